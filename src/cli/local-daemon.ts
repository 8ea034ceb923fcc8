import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { adminSocketName, type LocalDaemon, localDaemonName } from '../values/local-daemon.ts'
import { readRecords } from './daemon-record.ts'
import { parseObject } from './json.ts'
import { dataDir, type SystemPaths, stateDir } from './system.ts'

/** A way into a daemon that nobody but the owner of its data directory can have laid. */
export interface OwnDaemon {
  /** The path of its socket. */
  readonly socket: string
  /** Its first token, for this socket and nothing else. */
  readonly token: string | undefined
  readonly tokenPath: string
}

/** The daemon on this machine that serves an address, by what it left in its data directory. */
export const ownDaemonAt = (system: SystemPaths, address: string): OwnDaemon | undefined => {
  for (const dir of dataDirs(system)) {
    const daemon = readLocal(dir)
    const socket = join(dir, adminSocketName)
    const served = daemon && [daemon.url, daemon.baseUrl, daemon.admin]
    if (served?.some((one) => isSame(one, address)) && existsSync(socket)) return behindSocket(socket)
  }
  return undefined
}

/** The daemon behind a socket that was named: the token that lies beside it is its own. */
export const behindSocket = (socket: string): OwnDaemon => {
  const tokenPath = join(dirname(socket), 'admin.token')
  return { socket, token: hasOneOwner(socket, tokenPath) ? readToken(tokenPath) : undefined, tokenPath }
}

/**
 * Whether the directory, the socket and the token are one user's, and nobody else can put another in their place: then
 * the token goes to whom it belongs, whoever that is. A link could lead to somebody else's.
 */
const hasOneOwner = (socket: string, token: string): boolean => {
  try {
    const dir = statSync(dirname(socket))
    const [listener, file] = [lstatSync(socket), lstatSync(token)]
    const isWritable = process.platform !== 'win32' && (dir.mode & 0o022) !== 0
    return listener.uid === dir.uid && file.isFile() && file.uid === dir.uid && !isWritable
  } catch {
    return false
  }
}

/** Where the daemons of this user keep their data, as far as is known. */
const dataDirs = (system: SystemPaths): string[] => {
  const started = readRecords(system).map((record) => record.dataDir)
  return [...started.filter((dir) => isOurs(system, dir)), dataDir(system)]
}

/** A directory in a place that all may write to can be somebody else's by now. */
const isOurs = (system: SystemPaths, dir: string): boolean => {
  try {
    return statSync(dir).uid === statSync(stateDir(system)).uid
  } catch {
    // It is not there, or leads nowhere.
    return false
  }
}

const readToken = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

/** The address of the daemon that has a data directory, as it has left it there; it may have been killed. */
export const servedFrom = (dir: string): string | undefined => readLocal(dir)?.url

const readLocal = (dir: string): Omit<LocalDaemon, 'pid'> | undefined => {
  try {
    const left = parseObject(readFileSync(join(dir, localDaemonName), 'utf8'))
    return left && { url: String(left.url), baseUrl: String(left.baseUrl), admin: String(left.admin) }
  } catch {
    return undefined
  }
}

/** Whether both lead to one listener: localhost is either loopback, and nothing else has two names. */
const isSame = (one: string, other: string): boolean => {
  if (!URL.canParse(one) || !URL.canParse(other)) return one === other
  const [a, b] = [new URL(one), new URL(other)]
  const hosts = [a.hostname, b.hostname]
  const isSameHost =
    a.hostname === b.hostname ||
    (hosts.includes('localhost') && hosts.some((host) => host === '127.0.0.1' || host === '[::1]'))
  const path = (url: URL) => url.pathname.replace(/\/+$/, '')
  return isSameHost && a.protocol === b.protocol && a.port === b.port && path(a) === path(b)
}
