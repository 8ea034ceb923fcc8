import { type Db, isShared, type WriteJob } from '../../store/database/database.ts'
import { Lease, LeaseLost } from '../../store/lease/lease.ts'
import type { TryResult } from '../../store/webhooks/webhook-queue.ts'

/** A webhook as served by this daemon. Only one daemon on a database serves it at a time. */
export class Endpoint {
  readonly id: number
  isServed = false
  /** True if its last answer, or the current one, took long. */
  isSlow = false
  /** True once the log says that its secrets cannot be decrypted. */
  isReported = false
  /** By the monotonic clock. */
  servedAt = Number.NEGATIVE_INFINITY
  prunedAt = Number.NEGATIVE_INFINITY
  unrecorded: TryResult[] = []
  readonly #db: Db
  /** undefined: no other daemon uses the database. */
  readonly #lease: Lease | undefined

  constructor(id: number, { db, holder }: { db: Db; holder: string }) {
    this.id = id
    this.#db = db
    this.#lease = isShared(db) ? new Lease({ db, name: `webhook ${id}`, holder }) : undefined
  }

  /** Runs a job unless another daemon serves the webhook. @returns false then, or if another one takes it over */
  async whileLeased(job: () => Promise<boolean>): Promise<boolean> {
    if (!this.#lease) return job()
    if (!(await this.#lease.acquire())) return false
    try {
      return await job()
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    } finally {
      await this.#lease.release()
    }
  }

  /** False once another daemon may serve it. */
  get isCertain(): boolean {
    return this.#lease?.isCertain ?? true
  }

  async renewLease(): Promise<void> {
    if (this.#lease?.needsRenewal) await this.#lease.renew()
  }

  /** @throws LeaseLost, and nothing is written */
  write<T>(job: WriteJob<T>): Promise<T> {
    return this.#lease ? this.#lease.write(job) : this.#db.write(job)
  }
}
