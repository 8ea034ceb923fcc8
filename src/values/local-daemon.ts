import { closeSync, constants, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'

// Lets programs of a data directory's owner find its daemon.

/** Always serves administration, since anyone who can open it can read the data as well. */
export const adminSocketName = 'admin.sock'

/** Holds a LocalDaemon as JSON while the daemon listens. */
export const localDaemonName = 'daemon.json'

export interface LocalDaemon {
  readonly pid: number
  /** The listening address. */
  readonly url: string
  /** The base of the URLs that the daemon gives out. */
  readonly baseUrl: string
  /** The address of administration: `http://…` or `unix:/path`. */
  readonly admin: string
}

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
