import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** Counts every answer. Logs it at level debug, by its route: an URL holds codes, and taps. */
export function observe(app: FastifyInstance, { metrics, log }: Pick<Context, 'metrics' | 'log'>): void {
  const isDebug = log.isLevelEnabled('debug')
  // Finding the series of three labels costs more than counting: each is looked up once. Routes and statuses are few.
  const series = new Map<string, { observe(seconds: number): void }>()
  const seriesOf = (method: string, route: string, status: number) => {
    const name = `${method} ${route} ${status}`
    const known = series.get(name)
    if (known) return known
    const fresh = metrics.requests.labels({ method, route, status })
    series.set(name, fresh)
    return fresh
  }
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const seconds = reply.elapsedTime / 1000
    seriesOf(request.method, route, reply.statusCode).observe(seconds)
    if (isDebug)
      request.log.debug(
        { requestId: request.id, method: request.method, route, status: reply.statusCode, seconds },
        'answered',
      )
    done()
  })
}
