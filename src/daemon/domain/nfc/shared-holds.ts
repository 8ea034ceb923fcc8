import { nanoid } from 'nanoid'
import { type Db, isShared } from '../../store/database/database.ts'
import { heldByOthers, pruneHolds, releaseHolds, renewHolds, takeHold } from '../../store/lease/holds.ts'

/** Longer than a step takes: whoever died in one frees its chip after that. */
const busyMs = 10_000
const forgottenMs = 3_600_000

interface Holder {
  readonly id: string
  readonly token: string
  readonly station: string | undefined
}

/**
 * What the sessions of a daemon hold, for the other daemons on the database. Between its own sessions, a daemon decides
 * in memory; without others, it does nothing here.
 */
export class SharedHolds {
  readonly #daemon = nanoid()
  /** Names by the session that took them. */
  readonly #taken = new Map<string, Set<string>>()

  /** @returns false if another daemon's session holds it */
  async take(db: Db, { id, token, station }: Holder, name: string, silentMs: number): Promise<boolean> {
    if (!isShared(db)) return true
    const hold = {
      ...{ name, daemon: this.#daemon, holder: id },
      station: station === undefined ? null : JSON.stringify([token, station]),
    }
    if (!(await db.write((trx) => takeHold(trx, hold, { busyMs, silentMs })))) return false
    this.#taken.set(id, (this.#taken.get(id) ?? new Set()).add(name))
    return true
  }

  /** At the beginning of a step. @returns the names that other daemons' sessions have taken over meanwhile */
  async lost(db: Db, { id }: Holder): Promise<string[]> {
    const taken = this.#taken.get(id)
    if (!taken) return []
    const left = await db.write((trx) => renewHolds(trx, id, busyMs))
    return [...taken].filter((name) => !left.includes(name))
  }

  /** At the end of a step: from now on, its silence counts. */
  async rest(db: Db, { id }: Holder): Promise<void> {
    if (this.#taken.has(id)) await db.write((trx) => renewHolds(trx, id, 0))
  }

  async release(db: Db, { id }: Pick<Holder, 'id'>, name?: string): Promise<void> {
    const taken = this.#taken.get(id)
    if (!taken) return
    if (name === undefined) this.#taken.delete(id)
    else if (!taken.delete(name)) return
    await db.write(async (trx) => {
      await releaseHolds(trx, id, name === undefined ? undefined : [name])
      await pruneHolds(trx, forgottenMs)
    })
  }

  /** @returns those with this beginning that other daemons' sessions hold */
  elsewhere(db: Db, prefix: string, silentMs: number): Promise<string[]> {
    const of = { prefix, daemon: this.#daemon, silentMs }
    return isShared(db) ? heldByOthers(db.read, of) : Promise.resolve([])
  }
}
