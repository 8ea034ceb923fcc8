import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const codes = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'EFBIG'])

/** True for an error of the database or the system, however it was wrapped. */
export const isOutOfSpace = (error: unknown): boolean => hasCode(error, (code) => codes.has(code))

const isOfDisk = (error: unknown): boolean =>
  hasCode(error, (code) => codes.has(code) || /^(EIO|EROFS|SQLITE_IOERR.*|SQLITE_READONLY.*)$/.test(code))

/** True where the database could not be read or written, and may be again later. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^SQLITE_(BUSY|IOERR|READONLY|CANTOPEN)/.test(String(error.code))

function hasCode(error: unknown, isIt: (code: string) => boolean): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && isIt(String(cause.code))) return true
  return false
}

/** `failing`: it refuses writes for another reason than space. */
export type DiskState = 'writable' | 'full' | 'failing'

/** With more free space, and no refused write, no probe is needed. */
const roomEnough = 64 * 1024 * 1024
/** More than any one write of taps and codes takes. */
const probeBytes = 256 * 1024
const probeEveryMs = 1000

/** A kill may leave this file behind. */
export const probeFile = 'disk-probe.new'

/** Tracks whether the data directory accepts writes, from the daemon's own writes. */
export class Disk {
  readonly #dataDir: string
  readonly #counted = new WeakSet<object>()
  #refused = 0
  #isRefusing = false
  #probe: Promise<DiskState> | undefined
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** Writes that failed since the disk was full, or failing. */
  get refusedWrites(): number {
    return this.#refused
  }

  /** Counts failed writes. The same error counts once, and errors that are not the disk's do not count. */
  failed(error: unknown, writes = 1): void {
    if (!isOfDisk(error)) return
    // An earlier result is out of date.
    if (!this.#isRefusing) this.#probe = undefined
    this.#isRefusing = true
    if (typeof error === 'object' && error !== null) {
      if (this.#counted.has(error)) return
      this.#counted.add(error)
    }
    this.#refused += writes
  }

  /** Without the space reserved for root; undefined where the system does not say. */
  async freeBytes(): Promise<number | undefined> {
    try {
      const { bavail, bsize } = await statfs(this.#dataDir)
      return bavail * bsize
    } catch {
      return undefined
    }
  }

  /**
   * Whether writes go through. Tries it where one was refused or little is left, at most once a second: so it is
   * known also where nobody writes, and space that has come back is seen by itself.
   * @param write a small write to the database
   */
  async state(write: () => Promise<unknown>): Promise<DiskState> {
    const free = await this.freeBytes()
    if (!this.#isRefusing && (free === undefined || free >= roomEnough)) return 'writable'
    if (this.#probe === undefined || performance.now() - this.#probedAt > probeEveryMs) {
      this.#probedAt = performance.now()
      this.#probe = this.#tryIt(write)
    }
    return this.#probe
  }

  async #tryIt(write: () => Promise<unknown>): Promise<DiskState> {
    const path = join(this.#dataDir, probeFile)
    try {
      // Not zeros: some file systems keep those in no space at all.
      await writeFile(path, Buffer.alloc(probeBytes, 1), { mode: 0o600 })
      // A disk that has room may still have none for the database: a quota, a limit on the size of files.
      if (this.#isRefusing) await write()
      this.#isRefusing = false
      return 'writable'
    } catch (error) {
      if (!isOfDisk(error)) throw error
      return isOutOfSpace(error) ? 'full' : 'failing'
    } finally {
      await rm(path, { force: true }).catch(() => undefined)
    }
  }
}
