import { EventEmitter } from 'node:events'
import { findTeam } from '../../store/access/teams.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { TapRow } from '../../store/schema/schema.ts'
import {
  countRefusedTaps,
  deleteOldestRefusedTaps,
  insertRefusedTaps,
  listTaps,
  type NewTap,
  type ShownTap,
  type TapFilter,
} from '../../store/taps/taps.ts'

/** A refused tap has no ID until it is stored. */
type SeenTap = Omit<ShownTap, 'id'> & { id: number | null }

// Anyone can send endless refused taps. They are stored in batches and beyond this number only counted, so that they
// cost neither disk space nor other taps' time.
const refusedPerWrite = 500
const flushAfter = 200
/** Keep only the newest, since anyone can cause refused taps. */
const maxRefusedTaps = 200_000
// Extra deletions per write, to reduce a surplus left by an earlier version.
const extraDeletions = 100

interface TapCounts {
  judged(tap: Pick<TapRow, 'outcome' | 'via'>): void
  /** A refused tap that arrived too fast to be stored. */
  dropped(): void
  /** Called before refused taps are stored. @returns part of that write, which may be run again */
  storing?(taps: readonly NewTap[]): (trx: Queries) => Promise<void>
}

/** Valid taps are stored by the write that takes them; refused ones are collected here. */
export class TapLog {
  readonly #db: Db
  readonly #bus = new EventEmitter().setMaxListeners(0)
  readonly #counts: TapCounts
  #refused: NewTap[] = []
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> | undefined
  readonly #maxStored: number
  /** The number of stored refused taps, once counted. */
  #recorded = 0
  #counting: Promise<number> | undefined

  constructor(db: Db, counts: TapCounts, maxRefused = maxRefusedTaps) {
    this.#db = db
    this.#counts = counts
    this.#maxStored = maxRefused
  }

  /** Notifies followers of a tap that is already stored. */
  publish(tap: SeenTap): void {
    this.#counts.judged(tap)
    this.#bus.emit('tap', tap)
  }

  /** Stores a refused tap soon. */
  refuse(tap: NewTap): void {
    if (this.#refused.length >= refusedPerWrite) this.#counts.dropped()
    else this.#refused.push(tap)
    this.publish({ tamper: null, fileData: null, ...tap, id: null })
    this.#timer ??= setTimeout(() => void this.flush(), flushAfter).unref()
  }

  /** Stores the collected taps, and waits for those that are being stored. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const taps = this.#refused
    this.#refused = []
    if (taps.length > 0) this.#storing = this.#store(taps, this.#storing)
    await this.#storing
  }

  async #store(taps: readonly NewTap[], earlier: Promise<void> | undefined): Promise<void> {
    await this.#record(taps).catch(() => this.#counts.dropped())
    await earlier
  }

  /** Each surplus tap replaces the oldest. */
  async #record(taps: readonly NewTap[]): Promise<void> {
    this.#counting ??= countRefusedTaps(this.#db.slow).then((taps) => (this.#recorded = taps))
    await this.#counting.catch((error: unknown) => {
      this.#counting = undefined
      throw error
    })
    this.#recorded += taps.length
    const tooMany = Math.max(0, this.#recorded - this.#maxStored)
    const recordEvents = this.#counts.storing?.(taps)
    const written = this.#db.write(async (trx) => {
      await insertRefusedTaps(trx, taps)
      await recordEvents?.(trx)
      return tooMany === 0 ? 0 : deleteOldestRefusedTaps(trx, Math.min(tooMany, taps.length + extraDeletions))
    })
    const deleted = await written.catch((error: unknown) => {
      this.#recorded -= taps.length
      throw error
    })
    this.#recorded -= deleted
  }

  /** Refused taps that were deleted because of their age. */
  removed(taps: number): void {
    this.#recorded = Math.max(0, this.#recorded - taps)
  }

  /** @returns a function that unsubscribes */
  follow(listener: (tap: SeenTap) => void): () => void {
    this.#bus.on('tap', listener)
    return () => this.#bus.off('tap', listener)
  }
}

export interface TapRecord extends SeenTap {
  team: string | null
}

interface Deps {
  db: Pick<Db, 'read' | 'slow'>
  tapLog: TapLog
}

/** Newest first, including refused taps not stored yet. */
export async function listTapRecords(deps: Deps, filter: TapFilter): Promise<TapRecord[]> {
  await deps.tapLog.flush()
  const nameOf = teamNamer(deps.db)
  const records: TapRecord[] = []
  for (const tap of await listTaps(deps.db.slow, filter))
    records.push({ ...tap, team: await nameOf(tap.teamId) })
  // Refused taps are stored slightly later than valid ones, so their IDs are not in order of time.
  return records.sort((a, b) => b.at.localeCompare(a.at) || Number(b.id) - Number(a.id))
}

/** In order. @returns a function that unsubscribes @param filter a team sees its own taps and those of unknown chips */
export function followTaps(
  { db, tapLog }: Deps,
  { teamId, uid }: Pick<TapFilter, 'teamId' | 'uid'>,
  onTap: (tap: TapRecord) => void,
): () => void {
  const nameOf = teamNamer(db)
  // Sequential, so that a name lookup cannot reorder taps.
  let sending: Promise<void> = Promise.resolve()
  return tapLog.follow((tap) => {
    if (teamId !== undefined && tap.teamId !== null && tap.teamId !== teamId) return
    if (uid !== undefined && tap.chipUid !== uid) return
    sending = sending.then(async () => onTap({ ...tap, team: await nameOf(tap.teamId).catch(() => null) }))
  })
}

/** Caches team names. */
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
