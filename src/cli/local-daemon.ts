import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readRegular } from '../values/files.ts'
import { parseObject } from '../values/json.ts'
import { adminSocketName, holdsDataDir, type LocalDaemon, localDaemonName } from '../values/local-daemon.ts'
import { processStart } from './process-state.ts'
import { configDir, dataDir, type SystemPaths, stateDir } from './system.ts'

/** A daemon of this machine, by the record in its data directory. It may have ended since. */
export interface DaemonRecord extends LocalDaemon {
  readonly dataDir: string
  /** Undefined unless `daemon start` started it. */
  readonly started?: Started
}

/** How `daemon start` started a daemon: a file per data directory, since those can be anywhere. */
export interface Started {
  readonly dataDir: string
  readonly logFile: string
  readonly flags: readonly string[]
}

export const startedDir = (system: SystemPaths): string => `${stateDir(system)}/daemons`

/** Includes daemons that have ended. */
export const readStarted = (system: SystemPaths): Started[] => {
  const dir = startedDir(system)
  try {
    return readdirSync(dir)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const { dataDir, logFile, flags } = parseObject(readFileSync(join(dir, name), 'utf8')) ?? {}
        if (typeof dataDir !== 'string' || typeof logFile !== 'string' || !Array.isArray(flags)) return []
        return { dataDir, logFile, flags: flags.map(String) }
      })
  } catch {
    return []
  }
}

/** 0 and negative numbers are process groups, and 1 is init. */
const isPid = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 1

/** An incomplete record is ignored: no process is touched because of it. */
export const recordIn = (dataDir: string): DaemonRecord | undefined => {
  try {
    const { pid, ...fields } = parseObject(readRegular(join(dataDir, localDaemonName))) ?? {}
    const { url, baseUrl, admin, instance = '', startedAt = '' } = fields
    if (!isPid(pid)) return undefined
    return {
      ...{ pid, dataDir, url: new URL(String(url)).origin, baseUrl: String(baseUrl) },
      ...{ admin: String(admin), instance: String(instance), startedAt: String(startedAt) },
    }
  } catch {
    return undefined
  }
}

/** Daemons that `daemon start` started, newest first, including ended ones. */
export const readRecords = (system: SystemPaths): (DaemonRecord & { readonly started: Started })[] =>
  readStarted(system)
    .flatMap((started) => {
      const record = recordIn(started.dataDir)
      return record === undefined ? [] : { ...record, started }
    })
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))

/**
 * True if its process holds the lock of its data directory. Where the system does not tell, the process and the socket
 * have to be there, and whoever means to signal it must ask at the socket.
 */
export const isRunning = ({ pid, dataDir }: Pick<DaemonRecord, 'pid' | 'dataDir'>): boolean =>
  holdsDataDir(pid, dataDir) ??
  (existsSync(join(dataDir, adminSocketName)) && processStart(pid) !== undefined)

/** localhost is either loopback address; no other host has two names. */
export const isSameAddress = (one: string, other: string): boolean => {
  if (!URL.canParse(one) || !URL.canParse(other)) return one === other
  const [a, b] = [new URL(one), new URL(other)]
  const hosts = [a.hostname, b.hostname]
  const isSameHost =
    a.hostname === b.hostname ||
    (hosts.includes('localhost') && hosts.some((host) => host === '127.0.0.1' || host === '[::1]'))
  const path = (url: URL) => url.pathname.replace(/\/+$/, '')
  return isSameHost && a.protocol === b.protocol && a.port === b.port && path(a) === path(b)
}

/** Access to a daemon that only the owner of its data directory can have set up. */
export interface OwnDaemon {
  readonly socket: string
  /** Its first token, sent to this socket only. */
  readonly token: string | undefined
  readonly tokenPath: string
}

/** The daemon of this machine at an address, found by the record in its data directory. */
export const localDaemonAt = (system: SystemPaths, address: string): OwnDaemon | undefined => {
  for (const dir of dataDirs(system)) {
    const daemon = recordIn(dir)
    const socket = join(dir, adminSocketName)
    const served = daemon && [daemon.url, daemon.baseUrl, daemon.admin]
    if (served?.some((one) => isSameAddress(one, address)) && existsSync(socket))
      return daemonAtSocket(socket)
  }
  return undefined
}

/** The token beside the socket belongs to its daemon. */
export const daemonAtSocket = (socket: string): OwnDaemon => {
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
  const started = readStarted(system).map((started) => started.dataDir)
  const serviceDirs = (['user', 'system'] as const).flatMap((scope) => placesOf(system, scope).stateDirs)
  return [...started.filter((dir) => isOurs(system, dir)), dataDir(system), ...serviceDirs]
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

/** A system service starts with the machine and has a user of its own; a user's runs as that user. */
export type Scope = 'system' | 'user'

export const unitName = 'tapchip.service'

export interface Service {
  readonly scope: Scope
  readonly unitPath: string
  /** Its environment, with its secrets. */
  readonly envFile: string
  /** Undefined before its first start, and where this user may not look. */
  readonly dataDir: string | undefined
}

/** The place of configuration is also that of user units: $XDG_CONFIG_HOME. */
const userConfig = (system: SystemPaths): string => join(configDir(system), '..')

export const placesOf = (
  system: SystemPaths,
  scope: Scope,
): Pick<Service, 'unitPath' | 'envFile'> & { readonly stateDirs: readonly string[] } =>
  scope === 'system'
    ? {
        unitPath: `/etc/systemd/system/${unitName}`,
        envFile: '/etc/tapchip/tapchipd.env',
        stateDirs: ['/var/lib/tapchip'],
      }
    : {
        unitPath: join(userConfig(system), 'systemd/user', unitName),
        envFile: join(configDir(system), 'tapchipd.env'),
        // systemd before version 254 keeps the state of user services beside their configuration.
        stateDirs: [`${stateDir(system)}d`, `${configDir(system)}d`],
      }

/** Its state is in a directory of its own: the user's `tapchip` keeps boxes of chips in the other one. */
export const stateName = (scope: Scope): string => (scope === 'system' ? 'tapchip' : 'tapchipd')

export const readUnit = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export const installedService = (system: SystemPaths, scope: Scope): Service | undefined => {
  const { stateDirs, ...places } = placesOf(system, scope)
  const unit = readUnit(places.unitPath)
  if (unit === undefined) return undefined
  // A section that systemd ignores; see unit.ts.
  const chosen = /^\[X-Tapchip\]\nDataDir=(.+)$/m.exec(unit)?.[1]
  const dataDir = chosen ?? stateDirs.find((dir) => existsSync(join(dir, 'daemon.lock')))
  return { scope, ...places, dataDir }
}

/** The user's own service comes first. */
export const installedServices = (system: SystemPaths): Service[] =>
  (['user', 'system'] as const).flatMap((scope) => installedService(system, scope) ?? [])

/** Formatted for people to type. */
export const systemctl = ({ scope }: Pick<Service, 'scope'>): string =>
  scope === 'user' ? 'systemctl --user' : 'systemctl'
