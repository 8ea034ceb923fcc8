import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** Counts every answer. Logs it at level debug, by its route: an URL holds codes, and taps. */
export function observe(app: FastifyInstance, { metrics, log }: Pick<Context, 'metrics' | 'log'>): void {
  const isDebug = log.isLevelEnabled('debug')
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const seconds = reply.elapsedTime / 1000
    metrics.requests.observe({ method: request.method, route, status: reply.statusCode }, seconds)
    if (isDebug)
      request.log.debug({ method: request.method, route, status: reply.statusCode, seconds }, 'answered')
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id)
    done(null, payload)
  })
}
