import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { DomainError } from '../domain/errors/errors.ts'
import type { Context } from '../process/context.ts'

// Set by proxies and content networks, like any x-forwarded… header.
const marks = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'cf-connecting-ip',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'cdn-loop',
])

/** @param hostname as in a URL */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname)

/**
 * Keeps operator endpoints from answering through a proxy, where a public host name may point at them by
 * mistake, or to a web page that points its own name at this machine.
 * @throws DomainError forwarded_refused, in a hook of the scope
 */
export function refuseForwarded(
  app: FastifyInstance,
  config: Pick<Config, 'adminRemote' | 'adminListen' | 'host'>,
): void {
  if (config.adminRemote) return
  const names = [config.host, config.adminListen?.host]
  app.addHook('onRequest', async (request) => {
    if (!isForwarded(request) && !isMisdirected(request, names)) return
    throw new DomainError(
      'forwarded_refused',
      'This path answers direct requests only, and this one came through a proxy. Ask the daemon itself, or set TAPCHIP_ADMIN_REMOTE=on if that is what you want.',
    )
  })
}

/** True if a proxy left its headers. A direct client can send them too. */
function isForwarded({ headers }: FastifyRequest): boolean {
  for (const name in headers) if (marks.has(name) || name.startsWith('x-forwarded')) return true
  return false
}

/** A request from this machine under another name: a proxy next to the daemon, or DNS rebinding. */
function isMisdirected(request: FastifyRequest, names: readonly (string | undefined)[]): boolean {
  const from = request.socket.remoteAddress ?? ''
  if (!/^(::ffff:)?127\.|^::1$/.test(from)) return false
  const name = request.hostname
  return !isLoopback(name) && !names.includes(name)
}

const proxyAdvice =
  'Without TAPCHIP_TRUST_PROXY, all visitors count as one client and share one rate limit: set it to the number of proxies or to their networks.'

export function watchForProxies(
  app: FastifyInstance,
  { config, log, metrics }: Pick<Context, 'config' | 'log' | 'metrics'>,
): void {
  if (config.trustProxy !== undefined) return
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (isForwarded(request)) {
      metrics.unconfiguredProxy.inc()
      if (!hasWarned) log.warn(`A request came through a proxy. ${proxyAdvice}`)
      hasWarned = true
    }
    done()
  })
}

export async function proxyWarnings({
  unconfiguredProxy,
}: Pick<Context['metrics'], 'unconfiguredProxy'>): Promise<string[]> {
  const count = (await unconfiguredProxy.get()).values[0]?.value ?? 0
  return count > 0
    ? [`${count} ${count === 1 ? 'request' : 'requests'} came through a proxy. ${proxyAdvice}`]
    : []
}
