import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFileFlags, partialOf } from '../../../values/files.ts'
import { DatabaseUnavailable } from '../database/database.ts'

/** SQLSTATE disk_full: the disk of the database server. */
const postgresDiskFull = '53100'
const codes = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'EFBIG', postgresDiskFull])

/** True if the disk is the database server's, not this machine's. Also checks the error's causes. */
export const isServerFull = (error: unknown): boolean => hasCode(error, (code) => code === postgresDiskFull)

/** Also checks the causes of the error. */
export const isOutOfSpace = (error: unknown): boolean => hasCode(error, (code) => codes.has(code))

const isOfDisk = (error: unknown): boolean =>
  hasCode(error, (code) => codes.has(code) || /^(EIO|EROFS|SQLITE_IOERR.*|SQLITE_READONLY.*)$/.test(code))

/** True for temporary database errors. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable || isLocked(error)

/** True if a write may have been done although its answer was lost. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && error.isOutcomeUnknown

/**
 * Returns why the database server was unavailable. The store reports a lost server once, so failures caused by it
 * need not be reported. Undefined for all other errors, including conflicts between writes.
 */
export function whyLost(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof DatabaseUnavailable)
      return cause.isRefused || hasCode(cause, (code) => /^(40|55P03)/.test(code)) ? undefined : cause.message
  return undefined
}

const isLocked = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^SQLITE_(BUSY|IOERR|READONLY|CANTOPEN)/.test(String(error.code))

function hasCode(error: unknown, isIt: (code: string) => boolean): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && isIt(String(cause.code))) return true
  return false
}

/** `failing`: refuses writes for reasons other than space. */
export type DiskState = 'writable' | 'full' | 'failing'

/** With more free space and no refused write, no probe is needed. */
const roomEnough = 64 * 1024 * 1024
/** Larger than any write of taps and codes. */
const probeBytes = 256 * 1024
const probeEveryMs = 1000

export class Disk {
  readonly #dataDir: string
  readonly #counted = new WeakSet<object>()
  #refused = 0
  #isOfServer = false
  #isRefusing = false
  #probe: Promise<DiskState> | undefined
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** Failed writes since the disk became full or failing. */
  get refusedWrites(): number {
    return this.#refused
  }

  /** True if the last failure was that of the database's server. */
  get isOfServer(): boolean {
    return this.#isOfServer
  }

  /** Counts each error object once, and only disk errors. */
  failed(error: unknown, writes = 1): void {
    if (!isOfDisk(error)) return
    this.#isOfServer = isServerFull(error)
    // The last probe is out of date.
    if (!this.#isRefusing) this.#probe = undefined
    this.#isRefusing = true
    if (typeof error === 'object' && error !== null) {
      if (this.#counted.has(error)) return
      this.#counted.add(error)
    }
    this.#refused += writes
  }

  /** Excludes space reserved for root; undefined if unknown. */
  async freeBytes(): Promise<number | undefined> {
    try {
      const { bavail, bsize } = await statfs(this.#dataDir)
      return bavail * bsize
    } catch {
      return undefined
    }
  }

  /** Probes at most once a second, so that recovery is detected without other writes. */
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
    const path = partialOf(join(this.#dataDir, 'disk-probe'))
    try {
      // Some file systems store zeros without using space.
      await writeFile(path, Buffer.alloc(probeBytes, 1), { flag: newFileFlags, mode: 0o600 })
      // Quotas and file size limits may affect only the database.
      if (this.#isRefusing) await write()
      this.#isRefusing = false
      return 'writable'
    } catch (error) {
      if (!isOfDisk(error)) throw error
      this.#isOfServer = isServerFull(error)
      return isOutOfSpace(error) ? 'full' : 'failing'
    } finally {
      await rm(path, { force: true }).catch(() => undefined)
    }
  }
}
