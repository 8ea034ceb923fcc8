import { isTimeZone, type Period, periodsOf } from '../../../values/time-zone.ts'
import { findTeam } from '../../store/access/teams.ts'
import { findAnyChipGroup } from '../../store/chips/chip-groups.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { TapRow } from '../../store/schema/schema.ts'
import {
  countByChip,
  countByOutcome,
  countByTime,
  isOlderPiece,
  type KeptSince,
  lastTapUpTo,
  type TapPiece,
  type TapsCounted,
  tapsKeptSince,
} from '../../store/taps/tap-counts.ts'
import { listTaps } from '../../store/taps/taps.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { TapLog } from './tap-log.ts'

export type TapUnit = 'hour' | 'day' | 'group' | 'item' | 'outcome'

interface Question extends Omit<TapsCounted, 'since' | 'until'> {
  by: TapUnit
  since?: string | undefined
  until?: string | undefined
  /** An IANA name. */
  timeZone: string
  /** Maximum number of groups or items: those with the most taps. */
  limit: number
}

/** Only the fields of the unit are present. `refused` counts taps with any outcome but `valid`. */
export interface TapCount {
  hour?: string
  day?: string
  from?: string
  to?: string
  chipGroup?: string | null
  item?: string | null
  team?: string | null
  outcome?: TapRow['outcome']
  taps: number
  valid?: number
  refused?: number
}

export interface TapStats {
  since: string
  until: string
  keptSince: KeptSince
  newest: string | null
  /** Groups or items beyond the limit. */
  more: number
  rows: TapCount[]
}

type Deps = { db: Pick<Db, 'read' | 'slow'>; clock: Clock; tapLog: TapLog }

const hourMs = 3_600_000
const defaultSpanMs = { hour: 24 * hourMs, day: 29 * 24 * hourMs, other: 30 * 24 * hourMs }
export const maxPeriods = 10_000
// These queries take half a second on a slow machine, so other lists alternate with them.
const tapsPerRead = 50_000

const outcomes: readonly TapRow['outcome'][] = [
  'valid',
  'replayed',
  'wrong-mac',
  'disabled',
  'unknown-chip',
  'unknown-key-set',
]

/** @throws DomainError invalid_input */
export async function countTaps(deps: Deps, question: Question): Promise<TapStats> {
  const { by, timeZone } = question
  if (!isTimeZone(timeZone))
    throw new DomainError(
      'invalid_input',
      `There is no time zone "${timeZone}". Use a name like Europe/Berlin, or UTC.`,
    )
  const { periods, ...span } = spanOf(question, deps.clock.now())
  await deps.tapLog.flush()
  const db = deps.db.slow
  const filter = { ...question, ...span }
  const [newest] = await listTaps(db, {
    ...{ teamId: question.teamId, limit: 1 },
    withoutSetup: !question.includeSetup,
  })
  const known = { ...span, keptSince: await tapsKeptSince(db), newest: newest?.at ?? null, more: 0 }
  if (periods) return { ...known, rows: await byPeriod(db, filter, periods, by === 'day' ? 'day' : 'hour') }
  if (by === 'outcome') return { ...known, rows: await byOutcome(db, filter) }
  const rows = await byChip(db, filter, by === 'item' ? 'item' : 'group')
  const shown = rows.slice(0, question.limit)
  return { ...known, more: rows.length - shown.length, rows: shown }
}

/** The first period is a whole one, so that it can be compared with the others. */
function spanOf({ by, since, until, timeZone: zone }: Question, now: number) {
  const isTime = by === 'hour' || by === 'day'
  const end = until === undefined ? now + 1 : Date.parse(until)
  const begin = since === undefined ? end - defaultSpanMs[isTime ? by : 'other'] : Date.parse(since)
  if (begin >= end)
    throw new DomainError('invalid_input', `The span ends before it begins: ${iso(begin)} to ${iso(end)}.`)
  if (!isTime) return { since: iso(begin), until: iso(end), periods: undefined }
  const periods = periodsOf(by, { since: begin, until: end, zone }, maxPeriods)
  if (periods.length > maxPeriods) {
    const instead = by === 'hour' ? ', or count by day' : ''
    throw new DomainError(
      'invalid_input',
      `That is more than ${maxPeriods} ${by}s. Choose a shorter span${instead}.`,
    )
  }
  return { since: iso(periods[0]?.from ?? begin), until: iso(end), periods }
}

/** Scans from the newest tap back to the first piece of which all taps are older. */
async function* pieces<T extends { taps: number }>(
  db: Queries,
  { since }: TapsCounted,
  count: (piece: TapPiece) => Promise<T[]>,
): AsyncGenerator<T> {
  for (let lastId = await lastTapUpTo(db, Number.MAX_SAFE_INTEGER); lastId !== undefined; ) {
    const piece = { after: lastId - tapsPerRead, upTo: lastId }
    const rows = await count(piece)
    for (const row of rows) yield { ...row, taps: Number(row.taps) }
    if (rows.length === 0 && (await isOlderPiece(db, piece, since))) return
    lastId = await lastTapUpTo(db, piece.after)
  }
}

class Tally {
  taps = 0
  valid = 0
  add({ outcome, taps }: { outcome: TapRow['outcome']; taps: number }): void {
    this.taps += taps
    if (outcome === 'valid') this.valid += taps
  }
  get counts() {
    return { taps: this.taps, valid: this.valid, refused: this.taps - this.valid }
  }
}

async function byPeriod(
  db: Queries,
  filter: TapsCounted,
  periods: readonly Period[],
  unit: 'hour' | 'day',
): Promise<TapCount[]> {
  const tallies = periods.map(() => new Tally())
  // Some zones are off by half an hour or three quarters.
  const width = periods.every(({ from }) => from % hourMs === 0) ? 13 : 16
  for await (const row of pieces(db, filter, (piece) => countByTime(db, filter, piece, width))) {
    const at = Date.parse(width === 13 ? `${row.time}:00Z` : `${row.time}Z`)
    tallies[periodAt(periods, at)]?.add(row)
  }
  return periods.map(({ from, label }, index) => ({
    [unit]: label,
    from: iso(from),
    to: index + 1 < periods.length ? iso(periods[index + 1]?.from ?? 0) : filter.until,
    ...tallies[index]?.counts,
    taps: tallies[index]?.taps ?? 0,
  }))
}

/** The last period that has begun. */
function periodAt(periods: readonly Period[], at: number): number {
  let [low, high] = [0, periods.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((periods[middle]?.from ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}

async function byOutcome(db: Queries, filter: TapsCounted): Promise<TapCount[]> {
  const counts = new Map(outcomes.map((outcome) => [outcome, 0]))
  for await (const { outcome, taps } of pieces(db, filter, (piece) => countByOutcome(db, filter, piece)))
    counts.set(outcome, (counts.get(outcome) ?? 0) + taps)
  return [...counts].map(([outcome, taps]) => ({ outcome, taps }))
}

async function byChip(db: Queries, filter: TapsCounted, by: 'group' | 'item'): Promise<TapCount[]> {
  const column = by === 'group' ? 'chipGroupId' : 'itemId'
  const found = new Map<string, { teamId: number | null; key: string | number | null; tally: Tally }>()
  for await (const row of pieces(db, filter, (piece) => countByChip(db, filter, piece, column))) {
    // Chips without an item, and taps of unknown chips, are one row each, whatever their team.
    const id = JSON.stringify([row.teamId, row.key])
    const known = found.get(id) ?? { teamId: row.teamId, key: row.key, tally: new Tally() }
    found.set(id, known)
    known.tally.add(row)
  }
  const rows: TapCount[] = []
  for (const { teamId, key, tally } of found.values()) {
    const name = by === 'item' || key === null ? key : (await findAnyChipGroup(db, Number(key)))?.name
    const team = teamId === null ? null : ((await findTeam(db, teamId))?.name ?? null)
    rows.push({ [by === 'group' ? 'chipGroup' : 'item']: name ?? null, team, ...tally.counts })
  }
  const nameOf = (row: TapCount) => row.chipGroup ?? row.item ?? ''
  return rows.sort((a, b) => b.taps - a.taps || nameOf(a).localeCompare(nameOf(b)))
}
