import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { isForwarded } from './forwarded.ts'

export const toldHow =
  'Without TAPCHIP_TRUST_PROXY all visitors count as one client, and share one budget of requests: set it to the number of proxies in front, or to their networks.'

/** Notices what comes through a proxy that the daemon was not told of. */
export function noticeProxies(
  app: FastifyInstance,
  { config, log, metrics }: Pick<Context, 'config' | 'log' | 'metrics'>,
): void {
  if (config.trustProxy !== undefined) return
  let isTold = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (isForwarded(request)) {
      metrics.untoldProxy.inc()
      if (!isTold) log.warn(`A request came through a proxy. ${toldHow}`)
      isTold = true
    }
    done()
  })
}

/** What was noticed so far, for whoever asks how the daemon does. */
export async function seenProxies({
  untoldProxy,
}: Pick<Context['metrics'], 'untoldProxy'>): Promise<string[]> {
  const count = (await untoldProxy.get()).values[0]?.value ?? 0
  return count > 0
    ? [`${count} ${count === 1 ? 'request' : 'requests'} came through a proxy. ${toldHow}`]
    : []
}
