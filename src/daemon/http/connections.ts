import type { Server } from 'node:http'
import { BlockList, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { network } from './auth.ts'

type Limits = Pick<Config, 'maxConnections' | 'clientConnections'>

const warnEvery = 60_000

/**
 * Limits the connections to a server, in total and per client, so that one client leaves room for others. A new
 * connection replaces an idle one, or is cut if all of them are busy. Connections from this machine and from
 * trusted proxies belong to many clients, so only the total applies.
 * @param shared addresses that stand for many clients
 */
export function limitConnections(server: Server, limits: Limits, shared: BlockList, log: Logger): void {
  /** Connections without a complete request, or with a finished answer. The longest idle one comes first. */
  const idle = new Set<Socket>()
  const byClient = new Map<string, Set<Socket>>()
  let open = 0
  let warnedAt = Number.NEGATIVE_INFINITY

  const makeRoom = (candidates: Iterable<Socket>): boolean => {
    if (performance.now() - warnedAt > warnEvery) {
      warnedAt = performance.now()
      log.warn('the limit of connections is reached: idle ones are closed for new ones')
    }
    for (const socket of candidates) {
      if (!idle.delete(socket)) continue
      socket.destroy()
      return true
    }
    return false
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket
    const client = address === undefined || isIn(shared, address) ? undefined : network(address)
    const ofClient = client === undefined ? undefined : (byClient.get(client) ?? new Set<Socket>())
    if (ofClient && ofClient.size >= limits.clientConnections && !makeRoom(ofClient)) {
      socket.destroy()
      return
    }
    if (open >= limits.maxConnections && !makeRoom(idle)) {
      socket.destroy()
      return
    }
    open += 1
    idle.add(socket)
    if (ofClient && client !== undefined) byClient.set(client, ofClient.add(socket))
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
      ofClient?.delete(socket)
      if (client !== undefined && ofClient?.size === 0) byClient.delete(client)
    })
  })
  server.on('request', ({ socket }, answer) => {
    idle.delete(socket)
    // Does not use the request's own `socket`, which Node sets to null when a loop over the request is left early.
    answer.on('close', () => {
      if (!socket.destroyed) idle.add(socket)
    })
  })
}

/**
 * Handles the requests of a connection one after another. If a connection closes, Node never closes answers that wait
 * behind another one, so their requests' resources would never be released. Those that arrive in one turn of the
 * event loop are all read before any is handled, since a processor repeats one step for many requests faster than it
 * alternates between the steps: otherwise a used ref would take 20 to 50 % longer, and a replayed tap 25 to 40 %.
 */
export function answerInTurn(app: FastifyInstance): void {
  let allRead: Promise<void> | undefined
  const handleAll = () =>
    new Promise<void>((resolve) => {
      setImmediate(() => {
        allRead = undefined
        resolve()
      })
    })
  app.addHook('onRequest', (_request, { raw }, done) => {
    if (raw.socket !== null) {
      allRead ??= handleAll()
      void allRead.then(() => done())
    } else
      raw.once('socket', (socket: Socket) => {
        if (!socket.destroyed) done()
      })
  })
}

/** A proxy with keep-alive would send requests just when a stopping daemon closes its connections. */
export function endConnections(app: FastifyInstance, daemon: { readonly isStopping: boolean }): void {
  app.addHook('onRequest', (_request, reply, done) => {
    if (daemon.isStopping) reply.header('connection', 'close')
    done()
  })
}

/** Addresses of this machine and of trusted proxies; with a number of hops, every peer is a proxy. */
export function sharedAddresses(trust: Config['trustProxy']): BlockList {
  const list = new BlockList()
  const add = (range: string) => {
    const [address = '', bits] = range.split('/')
    const family = familyOf(address)
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  const everywhere = ['0.0.0.0/0', '::/0']
  const trusted = typeof trust === 'number' ? (trust > 0 ? everywhere : []) : (trust ?? [])
  for (const range of ['127.0.0.0/8', '::1', ...trusted]) add(range)
  return list
}

export const isIn = (list: BlockList, address: string): boolean => list.check(address, familyOf(address))

/** For valid addresses only. net.isIP compiles a regular expression, which slows start-up. */
const familyOf = (address: string) => (address.includes(':') ? 'ipv6' : 'ipv4')
