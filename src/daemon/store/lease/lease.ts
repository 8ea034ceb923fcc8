import { setTimeout as delay } from 'node:timers/promises'
import { expressionBuilder } from 'kysely'
import { nanoid } from 'nanoid'
import { type Db, engineOf, type Queries, type WriteJob } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { Database } from '../schema/schema.ts'

/** A lease expires this long after its last renewal, in milliseconds. */
export const defaultLeaseMs = 4000
/** Interval for trying to acquire a held lease. */
const retryMs = 200

export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor(what: string) {
    super(`Another process has acquired the lease "${what}". Nothing was written; that process continues.`)
  }
}

interface LeaseSettings {
  db: Db
  name: string
  /** This holder may acquire its lease again before it expires. Absent: nobody may. */
  holder?: string
  leaseMs?: number
  /** In milliseconds, from an arbitrary start. */
  clock?: { monotonic(): number }
}

/**
 * Lets one of several processes hold a lease. Only the database's clock decides when it expires. A process that was
 * paused may still believe that it holds a lease, so what it writes goes through `write`: each acquisition raises the
 * fence, and only the last one may write.
 */
export class Lease {
  readonly #settings: Required<LeaseSettings>
  #fence: number | undefined
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(settings: LeaseSettings) {
    const clock = { monotonic: () => performance.now() }
    this.#settings = { holder: nanoid(), leaseMs: defaultLeaseMs, clock, ...settings }
  }

  /** The state known to this process; another may have acquired it since. */
  get isHeld(): boolean {
    return this.#fence !== undefined
  }

  /** No other process can have acquired it yet. */
  get isCertain(): boolean {
    return this.isHeld && this.#sinceRenewed() < this.#settings.leaseMs
  }

  get needsRenewal(): boolean {
    return this.isHeld && this.#sinceRenewed() >= this.#settings.leaseMs / 5
  }

  /** @param graceMs how long an expired lease is still left to its holder @returns true if it is held now */
  async acquire({ graceMs = 0 } = {}): Promise<boolean> {
    if (this.isHeld) return true
    // A standby polls several times a second; a read costs less than a failed write.
    if (!(await this.canAcquire(graceMs))) return false
    const { db, clock } = this.#settings
    const at = clock.monotonic()
    const acquired = await db.write((trx) => acquireLease.first(trx, { ...this.#term, graceMs }))
    if (!acquired) return false
    this.#fence = acquired.fence
    this.#renewedAt = at
    return true
  }

  /** Tries for this long. @returns true if it is held now */
  async acquireWithin(ms: number): Promise<boolean> {
    const until = performance.now() + ms
    while (!(await this.acquire())) {
      if (performance.now() > until) return false
      await delay(retryMs)
    }
    return true
  }

  async canAcquire(graceMs = 0): Promise<boolean> {
    return !(await isBlocked.exists(this.#settings.db.read, { ...this.#term, graceMs }))
  }

  /**
   * Only renews. A lost lease must be acquired again by `acquire`, so that nothing continues with data read before.
   */
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
    const fence = this.#fence
    if (fence === undefined) throw new LeaseLost(name)
    const at = clock.monotonic()
    try {
      const value = await db.write(async (trx) => {
        if (!(await renewLease.runOnce(trx, { ...this.#term, fence }))) throw new LeaseLost(name)
        return job(trx)
      })
      this.#renewedAt = Math.max(this.#renewedAt, at)
      return value
    } catch (error) {
      if (error instanceof LeaseLost && this.#fence === fence) this.#fence = undefined
      throw error
    }
  }

  /** Lets another process acquire it at once. If the database cannot be used, the lease expires. */
  async release(): Promise<void> {
    const fence = this.#fence
    this.#fence = undefined
    if (fence === undefined) return
    const released = this.#settings.db.write((trx) => releaseLease.run(trx, { ...this.#term, fence }))
    await released.catch(() => undefined)
  }

  get #term(): Term {
    const { name, holder, leaseMs } = this.#settings
    return { name, holder, leaseMs }
  }

  #sinceRenewed(): number {
    return this.#settings.clock.monotonic() - this.#renewedAt
  }
}

/**
 * Runs a job under a lease.
 * @param waitMs how long to wait for the lease
 * @returns undefined if another process holds the lease, or acquired it before the job's last write
 */
export async function withLease<T>(
  settings: LeaseSettings,
  waitMs: number,
  job: (lease: Lease) => Promise<T>,
): Promise<T | undefined> {
  const lease = new Lease(settings)
  if (!(await lease.acquireWithin(waitMs))) return undefined
  try {
    return await job(lease)
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    throw error
  } finally {
    await lease.release()
  }
}

type Term = { name: string; holder: string; leaseMs: number }
type HeldLease = Term & { fence: number }
type Attempt = Term & { graceMs: number }

const leases = expressionBuilder<Database, 'leases'>()

/** If the clock was set back, a lease would end late: no lease may end later than one that begins now. */
const isFree = (db: Queries, p: Attempt) => {
  const { now } = engineOf(db)
  return leases.or([
    leases('leases.holder', '=', ''),
    // If the reply to our acquire was lost, the lease already has our name.
    leases('leases.holder', '=', p.holder),
    leases('leases.expiresAt', '<=', leases(now, '-', p.graceMs)),
    leases('leases.expiresAt', '>', leases(now, '+', p.leaseMs)),
  ])
}

const isBlocked = statement<Attempt>()((db, p) =>
  db
    .selectFrom('leases')
    .select('name')
    .where('name', '=', p.name)
    .where((eb) => eb.not(isFree(db, p))),
)

const acquireLease = statement<Attempt>()((db, p) =>
  db
    .insertInto('leases')
    .values({
      name: p.name,
      holder: p.holder,
      fence: 1,
      expiresAt: leases(engineOf(db).now, '+', p.leaseMs),
    })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet((eb) => ({
          holder: eb.ref('excluded.holder'),
          fence: eb('leases.fence', '+', 1),
          expiresAt: eb.ref('excluded.expiresAt'),
        }))
        .where(isFree(db, p)),
    )
    .returning('fence'),
)

const stillHeld = (db: Queries, p: HeldLease) =>
  db
    .updateTable('leases')
    .where('name', '=', p.name)
    .where('holder', '=', p.holder)
    .where('fence', '=', p.fence)

/** Changes nothing if another process has acquired the lease since. */
const renewLease = statement<HeldLease>()((db, p) =>
  stillHeld(db, p).set({ expiresAt: leases(engineOf(db).now, '+', p.leaseMs) }),
)

const releaseLease = statement<HeldLease>()((db, p) => stillHeld(db, p).set({ holder: '' }))

/** After a restore, or a start that excludes other daemons: former holders are gone. */
export const releaseAllLeases = (trx: Queries) =>
  affected(trx.updateTable('leases').set({ holder: '' }).where('holder', '!=', ''))

/** @param prefix of names, without wildcards @returns names of held leases that have not expired */
export async function heldLeases(db: Queries, prefix: string): Promise<string[]> {
  const held = await db
    .selectFrom('leases')
    .select('name')
    .where('name', 'like', `${prefix}%`)
    .where('holder', '!=', '')
    .where('expiresAt', '>', engineOf(db).now)
    .execute()
  return held.map(({ name }) => name)
}

/** Longer than any holder with a reusable name remembers its fence. */
const forgottenMs = 3_600_000

/** Deletes leases that expired long ago. @returns their number */
export const pruneLeases = (trx: Queries, limit: number): Promise<number> =>
  affected(
    trx.deleteFrom('leases').where('name', 'in', (eb) =>
      eb
        .selectFrom('leases')
        .select('name')
        .where('expiresAt', '<', leases(engineOf(trx).now, '-', forgottenMs))
        .limit(limit),
    ),
  )
