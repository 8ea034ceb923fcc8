import { chmodSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { Logger } from 'pino'
import { replaceFile } from '../../values/files.ts'
import { adminSocketName, type LocalDaemon, localDaemonName, socketPath } from '../../values/local-daemon.ts'
import type { Config } from '../config/config.ts'
import { limitConnections, sharedAddresses } from './connections.ts'
import { isLoopback, refuseForwarded } from './forwarded.ts'

type AdminConfig = Pick<Config, 'adminListen' | 'adminRemote' | 'baseUrl' | 'dataDir' | 'host'>
type ListenConfig = AdminConfig & Pick<Config, 'maxConnections' | 'clientConnections' | 'trustProxy'>

/** Connections to the operators' own listeners. */
const operators = new WeakSet<Socket>()

type Constraints = NonNullable<NonNullable<FastifyServerOptions['routerOptions']>['constraints']>

/** Makes a route exist only on the operators' own listeners; elsewhere it is an unknown path. */
export const listenerConstraint: Constraints = {
  listener: {
    name: 'listener',
    storage: () => new Map(),
    deriveConstraint: ({ socket }: IncomingMessage) => (operators.has(socket) ? 'operators' : 'others'),
  },
}

/** Others may reach the main port: directly, or through a proxy at the base URL. */
const isPublic = ({ host, baseUrl }: Pick<AdminConfig, 'host' | 'baseUrl'>): boolean =>
  !isLoopback(host === '::1' ? '[::1]' : host) ||
  (baseUrl !== undefined && !isLoopback(new URL(baseUrl).hostname))

const isAdminApart = ({ adminListen, adminRemote, ...config }: AdminConfig): boolean =>
  !adminRemote && (adminListen !== undefined || isPublic(config))

/** Restricts the routes of a scope to operators: only on their listeners, and not through a proxy. */
export function restrictToOperators(scope: FastifyInstance, config: AdminConfig): void {
  refuseForwarded(scope, config)
  if (!isAdminApart(config)) return
  scope.addHook('onRoute', (route) => {
    route.constraints = { ...route.constraints, listener: 'operators' }
  })
}

export interface Administration {
  /** `http://…` or `unix:/path`. */
  readonly address: string
  /** Accepts no new connections, and resolves when all requests are answered. */
  close(): Promise<void>
  closeAllConnections(): void
}

/**
 * Serves the application on the socket in the data directory, and on the operators' address if one is set. The
 * data directory is locked by now, so an existing socket belongs to a dead daemon.
 */
export async function openAdministration(
  app: FastifyInstance,
  {
    config,
    log,
    ...daemon
  }: { config: ListenConfig; log: Logger } & Pick<LocalDaemon, 'url' | 'baseUrl' | 'instance'>,
): Promise<Administration> {
  const open: { server: Server; closed: () => void }[] = []
  const close = async () => {
    await Promise.all(
      open.map(async ({ server, closed }) => {
        await new Promise((done) => server.close(done))
        closed()
      }),
    )
  }
  try {
    const socket = await listenOnSocket(app, config, log)
    if (socket) open.push(socket)
    // Without Unix sockets, administration still needs an address.
    const expected =
      config.adminListen ?? (socket || !isAdminApart(config) ? undefined : { host: '127.0.0.1', port: 0 })
    const tcp = expected && (await listen(serverLike(app, config, log), expected))
    if (tcp) open.push({ server: tcp, closed: () => undefined })
    const { url } = daemon
    const separateAddress = socket ? `unix:${join(config.dataDir, adminSocketName)}` : url
    const address =
      tcp && expected ? addressOf(tcp, expected.host) : isAdminApart(config) ? separateAddress : url
    const startedAt = new Date().toISOString()
    const record: LocalDaemon = { pid: process.pid, ...daemon, admin: address, startedAt }
    // The socket file stays when the daemon stops: the directory's lock shows whether the daemon runs.
    replaceFile(join(config.dataDir, localDaemonName), `${JSON.stringify(record)}\n`)
    return {
      address,
      close,
      closeAllConnections: () => {
        for (const { server } of open) server.closeAllConnections()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function listenOnSocket(app: FastifyInstance, config: ListenConfig, log: Logger) {
  const path = join(config.dataDir, adminSocketName)
  let release: () => void = () => undefined
  try {
    if (process.platform === 'win32') throw new Error('Windows has no sockets that only their owner can open')
    const short = socketPath(path)
    release = short.release
    rmSync(path, { force: true })
    const server = await listen(serverLike(app, config, log), { path: short.path })
    chmodSync(path, 0o600)
    return { server, closed: release }
  } catch (error) {
    release()
    log.warn(
      `There is no socket for administration at ${path}: ${error instanceof Error ? error.message : error}. ` +
        'tapchip needs TAPCHIP_ADMIN_URL and TAPCHIP_ADMIN_TOKEN.',
    )
    return undefined
  }
}

/** Another listener for the application, for operators' connections, with the same limits. */
function serverLike(app: FastifyInstance, config: ListenConfig, log: Logger): Server {
  const { keepAliveTimeout, requestTimeout, headersTimeout, timeout, maxHeadersCount } = app.server
  const server = createServer({ connectionsCheckingInterval: headersTimeout / 6 }, (request, response) =>
    app.routing(request, response),
  )
  limitConnections(server, config, sharedAddresses(config.trustProxy), log)
  Object.assign(server, { keepAliveTimeout, requestTimeout, headersTimeout, timeout, maxHeadersCount })
  server.on('connection', (socket) => operators.add(socket))
  for (const answer of app.server.listeners('clientError'))
    server.on('clientError', (...broken) => answer(...broken))
  return server
}

const listen = (server: Server, where: { path: string } | { host: string; port: number }): Promise<Server> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => resolve(server.off('error', reject)))
  })

/** @param host as configured; a wildcard address includes loopback */
export function addressOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}
