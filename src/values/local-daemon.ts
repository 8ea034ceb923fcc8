import { closeSync, constants, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'

// How the programs of a data directory's owner find the daemon that it belongs to.

/** Where administration is always served: whoever can open it can read the data as well. */
export const adminSocketName = 'admin.sock'

/** Holds a LocalDaemon as JSON while the daemon listens. */
export const localDaemonName = 'daemon.json'

export interface LocalDaemon {
  readonly pid: number
  /** Where it listens. */
  readonly url: string
  /** The address in the URLs that it gives out. */
  readonly baseUrl: string
  /** Where administration is: `http://…` or `unix:/path`. */
  readonly admin: string
}

/** What the shortest `sun_path` among the systems holds, its end left out: macOS has 104 bytes, Linux 108 (unix(7)). */
const longestPath = 103

/**
 * The path of a Unix socket as the system can take it, whatever its length; Node cuts one that is too long.
 * @returns the path, which is good until `release`
 * @throws Error where this system knows no way
 */
export const socketPath = (path: string): { readonly path: string; release(): void } => {
  if (Buffer.byteLength(path) <= longestPath) return { path, release: () => undefined }
  if (process.platform !== 'linux') throw new Error(`the path is longer than ${longestPath} bytes`)
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, release: () => closeSync(folder) }
}
