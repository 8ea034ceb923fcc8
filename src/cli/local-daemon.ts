import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseObject } from '../values/json.ts'
import { adminSocketName, type LocalDaemon, localDaemonName } from '../values/local-daemon.ts'
import { readRegular } from '../values/regular-file.ts'
import { readRecords } from './daemon-record.ts'
import { placesOf } from './service.ts'
import { dataDir, type SystemPaths, stateDir } from './system.ts'

/** Access to a daemon that only the owner of its data directory can have set up. */
export interface OwnDaemon {
  readonly socket: string
  /** Its first token, sent to this socket only. */
  readonly token: string | undefined
  readonly tokenPath: string
}

/** The daemon of this machine at an address, found by the file in its data directory. */
export const ownDaemonAt = (system: SystemPaths, address: string): OwnDaemon | undefined => {
  for (const dir of dataDirs(system)) {
    const daemon = readLocal(dir)
    const socket = join(dir, adminSocketName)
    const served = daemon && [daemon.url, daemon.baseUrl, daemon.admin]
    if (served?.some((one) => isSame(one, address)) && existsSync(socket)) return behindSocket(socket)
  }
  return undefined
}

/** The token beside the socket belongs to its daemon. */
export const behindSocket = (socket: string): OwnDaemon => {
  const tokenPath = join(dirname(socket), 'admin.token')
  return { socket, token: hasOneOwner(socket, tokenPath) ? readToken(tokenPath) : undefined, tokenPath }
}

/**
 * True if the directory, the socket and the token have one owner, and nobody else can replace them: then the token goes
 * to that owner. Links are excluded, since they could lead elsewhere.
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

const dataDirs = (system: SystemPaths): string[] => {
  const started = readRecords(system).map((record) => record.dataDir)
  const ofServices = (['user', 'system'] as const).flatMap((scope) => placesOf(system, scope).stateDirs)
  return [...started.filter((dir) => isOurs(system, dir)), dataDir(system), ...ofServices]
}

/** A directory in a world-writable place may belong to somebody else by now. */
const isOurs = (system: SystemPaths, dir: string): boolean => {
  try {
    return statSync(dir).uid === statSync(stateDir(system)).uid
  } catch {
    // It is missing, or a dangling link.
    return false
  }
}

const readToken = (path: string): string | undefined => {
  try {
    return readRegular(path).trim() || undefined
  } catch {
    return undefined
  }
}

/** The address that a daemon left in its data directory; it may have been killed. */
export const servedFrom = (dir: string): string | undefined => readLocal(dir)?.url

const readLocal = (dir: string): Omit<LocalDaemon, 'pid'> | undefined => {
  try {
    const left = parseObject(readRegular(join(dir, localDaemonName)))
    return left && { url: String(left.url), baseUrl: String(left.baseUrl), admin: String(left.admin) }
  } catch {
    return undefined
  }
}

/** localhost is either loopback address; no other host has two names. */
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
