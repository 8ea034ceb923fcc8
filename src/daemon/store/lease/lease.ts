import type { Db, WriteJob } from '../database/database.ts'
import { findLease, giveLeaseBack, insertLease, renewLease, type Tenure, takeLease } from './leases.ts'

/** A lease that was not renewed for so long may be taken by another process, in milliseconds. */
export const usualLeaseMs = 4000

export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor(what: string) {
    super(`Another process has taken the lease "${what}" meanwhile. Nothing was written; it goes on there.`)
  }
}

interface LeaseSettings {
  db: Db
  name: string
  /** Random at every start. */
  holder: string
  /** In milliseconds, from an arbitrary start. */
  clock: { monotonic(): number }
  leaseMs?: number
  /** Whoever held it before is known to be gone, so the first taking does not wait. */
  takesOver?: boolean
}

/**
 * Lets one of several processes do something. No clocks are compared: a lease is free once the process that wants it
 * has seen it unchanged for `leaseMs`. A process that was paused may still believe that it has a lease, so what it
 * writes goes through `write`: each taking raises the fence, and only the last one may write.
 */
export class Lease {
  readonly #settings: Required<LeaseSettings>
  #tenure: Tenure | undefined
  #renewedAt = Number.NEGATIVE_INFINITY
  #seen: { state: string; at: number } | undefined
  #takesOver: boolean

  constructor(settings: LeaseSettings) {
    this.#settings = { leaseMs: usualLeaseMs, takesOver: false, ...settings }
    this.#takesOver = this.#settings.takesOver
  }

  /** Held, as far as this process knows: it may have been taken since. */
  get isTaken(): boolean {
    return this.#tenure !== undefined
  }

  /** Held for certain: no other process can have taken it yet. */
  get isSure(): boolean {
    return this.isTaken && this.#sinceRenewed() < this.#settings.leaseMs
  }

  get isDue(): boolean {
    return this.isTaken && this.#sinceRenewed() >= this.#settings.leaseMs / 5
  }

  /** @returns whether it is held now */
  async take(): Promise<boolean> {
    if (this.isTaken) return true
    const { db, name, holder } = this.#settings
    const seen = await this.#look()
    if (!this.#isFree(seen.holder)) return false
    const at = this.#settings.clock.monotonic()
    if (!(await db.write((trx) => takeLease(trx, holder, seen)))) return false
    this.#takesOver = false
    this.#seen = undefined
    this.#tenure = { name, holder, fence: seen.fence + 1 }
    this.#renewedAt = at
    return true
  }

  /** Whether `take` would succeed now. */
  async mayBeTaken(): Promise<boolean> {
    return this.#isFree((await this.#look()).holder)
  }

  /** Only renews: what is lost is taken again by `take` alone, so that nothing goes on by what it read before. */
  async renew(): Promise<boolean> {
    try {
      await this.write(async () => undefined)
      return true
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    }
  }

  /** A write that only the holder may make. @throws LeaseLost, and nothing is written */
  async write<T>(job: WriteJob<T>): Promise<T> {
    const { db, name, clock } = this.#settings
    const tenure = this.#tenure
    if (!tenure) throw new LeaseLost(name)
    const at = clock.monotonic()
    try {
      const value = await db.write(async (trx) => {
        if (!(await renewLease(trx, tenure))) throw new LeaseLost(name)
        return job(trx)
      })
      this.#renewedAt = Math.max(this.#renewedAt, at)
      return value
    } catch (error) {
      if (error instanceof LeaseLost && this.#tenure === tenure) this.#tenure = undefined
      throw error
    }
  }

  async giveBack(): Promise<void> {
    const tenure = this.#tenure
    this.#tenure = undefined
    if (tenure) await this.#settings.db.write((trx) => giveLeaseBack(trx, tenure))
  }

  #sinceRenewed(): number {
    return this.#settings.clock.monotonic() - this.#renewedAt
  }

  async #look() {
    const { db, name, clock } = this.#settings
    const found = await findLease(db.read, { name })
    if (!found) await db.write((trx) => insertLease(trx, name))
    const row = found ?? { name, holder: '', fence: 0, beat: 0 }
    const state = `${row.holder} ${row.fence} ${row.beat}`
    if (this.#seen?.state !== state) this.#seen = { state, at: clock.monotonic() }
    return row
  }

  /** A taking whose answer was lost left our own name. */
  #isFree(holder: string): boolean {
    const { clock, leaseMs, holder: own } = this.#settings
    if (holder === '' || holder === own || this.#takesOver) return true
    return this.#seen !== undefined && clock.monotonic() - this.#seen.at >= leaseMs
  }
}
