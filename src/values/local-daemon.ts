import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'

// Lets programs of a data directory's owner find its daemon.

/** Always serves administration, since anyone who can open it can read the data as well. */
export const adminSocketName = 'admin.sock'

/** Holds a LocalDaemon as JSON: the one that listens, or the last one that did. */
export const localDaemonName = 'daemon.json'

export interface LocalDaemon {
  readonly pid: number
  /** The listening address. */
  readonly url: string
  /** The base of the URLs that the daemon gives out. */
  readonly baseUrl: string
  /** The address of administration: `http://…` or `unix:/path`. */
  readonly admin: string
  /** The value from `/healthz`. */
  readonly instance: string
  readonly startedAt: string
}

/** In a data directory. Its daemon keeps it open, and locked. */
export const lockFile = 'daemon.lock'

/**
 * Whether a process keeps the lock file of a data directory open, even if somebody has removed the file since.
 * @returns undefined if the system does not say
 */
export function holdsDataDir(pid: number, dataDir: string): boolean | undefined {
  const dir = `/proc/${pid}/fd`
  try {
    // Other users can make a file of theirs look as if it stood at any path, in a namespace of their own.
    const stats = statSync(dataDir, { throwIfNoEntry: false })
    if (![0, stats?.uid ?? process.getuid?.()].includes(statSync(`/proc/${pid}`).uid)) return false
    const file = `${stats ? realpathSync(dataDir) : dataDir}/${lockFile}`
    return readdirSync(dir).some((fd) => isLinkTo(`${dir}/${fd}`, file))
  } catch {
    return undefined
  }
}

function isLinkTo(link: string, file: string): boolean {
  try {
    return readlinkSync(link).replace(/ \(deleted\)$/, '') === file
  } catch {
    return false
  }
}

/** Process ids, whoever started them. Works on Linux only. */
export const holdersOf = (dataDir: string): number[] =>
  existsSync('/proc/self/fd')
    ? readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 1 && holdsDataDir(pid, dataDir))
    : []

/** The shortest `sun_path` of all systems without its NUL: macOS has 104 bytes, Linux 108. Source: unix(7) */
const maxPathBytes = 103

/**
 * Shortens the path of a Unix socket if necessary, since Node silently cuts one that is too long.
 * @returns a path that is valid until `release`
 * @throws Error if the system has no way to shorten it
 */
export const socketPath = (path: string): { readonly path: string; release(): void } => {
  if (Buffer.byteLength(path) <= maxPathBytes) return { path, release: () => undefined }
  if (process.platform !== 'linux') throw new Error(`the path is longer than ${maxPathBytes} bytes`)
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, release: () => closeSync(folder) }
}
