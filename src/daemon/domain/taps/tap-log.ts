import { EventEmitter } from 'node:events'
import type { Db } from '../../store/database.ts'
import type { TapRow } from '../../store/schema.ts'
import { countRefusedTaps, deleteOldestRefusedTaps } from '../../store/sqlite-taps.ts'
import { insertTaps, listTaps, type NewTap, type TapFilter } from '../../store/taps.ts'
import { findTeam } from '../../store/teams.ts'

/** A tap on its way to those who follow; a refused one has no id before it is written. */
type SeenTap = Omit<TapRow, 'id'> & { id: number | null }

// A stranger can send refused taps without end. They are written in batches, and beyond this many at once
// only counted, so that they cost neither the disk nor the others' taps.
const refusedAtOnce = 500
const flushAfter = 200
/** The newest are worth keeping, and not the disk: anybody can have a tap refused, over and over. */
const refusedKept = 200_000
// Of those that an earlier version left, besides those that have just become too many.
const deletedBesides = 100

/** Who counts what passes. */
interface TapCounts {
  judged(outcome: TapRow['outcome']): void
  /** A refused tap that came too fast to be recorded. */
  dropped(): void
}

/** The record of taps. Valid ones are written by whoever takes them; refused ones are collected here. */
export class TapLog {
  readonly #db: Db
  readonly #bus = new EventEmitter().setMaxListeners(0)
  readonly #counts: TapCounts
  #refused: NewTap[] = []
  #timer: NodeJS.Timeout | undefined
  readonly #most: number
  /** How many refused taps are recorded, once that has been counted. */
  #recorded = 0
  #counting: Promise<number> | undefined

  constructor(db: Db, counts: TapCounts, most = refusedKept) {
    this.#db = db
    this.#counts = counts
    this.#most = most
  }

  /** Tells followers of a tap that is already written. */
  publish(tap: SeenTap): void {
    this.#counts.judged(tap.outcome)
    this.#bus.emit('tap', tap)
  }

  /** Records a refused tap, soon. */
  refuse(tap: NewTap): void {
    if (this.#refused.length >= refusedAtOnce) this.#counts.dropped()
    else this.#refused.push(tap)
    this.publish({ ...tap, id: null })
    this.#timer ??= setTimeout(() => void this.flush(), flushAfter).unref()
  }

  /** Writes what was collected. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const taps = this.#refused
    this.#refused = []
    if (taps.length > 0) await this.#record(taps).catch(() => this.#counts.dropped())
  }

  /** Each that is one too many takes the place of the oldest. */
  async #record(taps: readonly NewTap[]): Promise<void> {
    this.#counting ??= countRefusedTaps(this.#db.slow).then((taps) => (this.#recorded = taps))
    await this.#counting.catch((error: unknown) => {
      this.#counting = undefined
      throw error
    })
    this.#recorded += taps.length
    const tooMany = Math.max(0, this.#recorded - this.#most)
    const written = this.#db.write(async (trx) => {
      await insertTaps(trx, taps)
      return tooMany === 0 ? 0 : deleteOldestRefusedTaps(trx, Math.min(tooMany, taps.length + deletedBesides))
    })
    const deleted = await written.catch((error: unknown) => {
      this.#recorded -= taps.length
      throw error
    })
    this.#recorded -= deleted
  }

  /** @returns a function that ends the following */
  follow(listener: (tap: SeenTap) => void): () => void {
    this.#bus.on('tap', listener)
    return () => this.#bus.off('tap', listener)
  }
}

/** A tap with its team's name. */
export interface TapRecord extends SeenTap {
  team: string | null
}

interface Deps {
  db: Pick<Db, 'read' | 'slow'>
  tapLog: TapLog
}

/** Newest first, the refused ones of this moment included. */
export async function listTapRecords(deps: Deps, filter: TapFilter): Promise<TapRecord[]> {
  await deps.tapLog.flush()
  const nameOf = teamNamer(deps.db)
  const records: TapRecord[] = []
  for (const tap of await listTaps(deps.db.slow, filter))
    records.push({ ...tap, team: await nameOf(tap.teamId) })
  // Refused taps are written a moment later than valid ones: their ids are not quite in the order of time.
  return records.sort((a, b) => b.at.localeCompare(a.at) || Number(b.id) - Number(a.id))
}

/**
 * Tells of each tap as it happens, in order. @returns a function that ends the following
 * @param filter as in the list: a team sees its own taps and those of nobody's chip
 */
export function followTaps(
  { db, tapLog }: Deps,
  { teamId, uid }: Pick<TapFilter, 'teamId' | 'uid'>,
  tell: (tap: TapRecord) => void,
): () => void {
  const nameOf = teamNamer(db)
  // One after the other, so that a name that must be looked up does not let a later tap overtake.
  let told: Promise<void> = Promise.resolve()
  return tapLog.follow((tap) => {
    if (teamId !== undefined && tap.teamId !== null && tap.teamId !== teamId) return
    if (uid !== undefined && tap.chipUid !== uid) return
    told = told.then(async () => tell({ ...tap, team: await nameOf(tap.teamId).catch(() => null) }))
  })
}

/** Looks a team's name up once. */
function teamNamer(db: Pick<Db, 'read'>): (id: number | null) => Promise<string | null> {
  const names = new Map<number, string | null>()
  return async (id) => {
    if (id === null) return null
    const known = names.get(id)
    if (known !== undefined) return known
    const name = (await findTeam(db.read, id))?.name ?? null
    names.set(id, name)
    return name
  }
}
