import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { setting } from '../database/settings.ts'
import type { TapRow } from '../schema/schema.ts'

export interface TapsCounted {
  teamId?: number | undefined
  /** Only chips currently in this group. */
  chipGroupId?: number | undefined
  outcome?: TapRow['outcome'] | 'refused' | undefined
  /** Also taps of set-up. */
  includeSetup?: boolean | undefined
  since: string
  until: string
}

/** Taps with IDs above `after`, up to and including `upTo`. */
export interface TapPiece {
  after: number
  upTo: number
}

type OutcomeCount = { outcome: TapRow['outcome']; taps: number }

/** May be slow. @param width how many characters of a time name its hour (13) or minute (16) */
export const countByTime = (
  db: Queries,
  filter: TapsCounted,
  piece: TapPiece,
  width: 13 | 16,
): Promise<(OutcomeCount & { time: string })[]> =>
  db
    .selectFrom(
      selected(db, filter, piece)
        .select((e) => ['outcome', e.fn<string>('substr', ['at', e.lit(1), sql.lit(width)]).as('time')])
        .as('counted'),
    )
    .select((e) => ['time', 'outcome', e.fn.countAll<number>().as('taps')])
    .groupBy(['time', 'outcome'])
    .execute()

/** May be slow. */
export const countByOutcome = (db: Queries, filter: TapsCounted, piece: TapPiece): Promise<OutcomeCount[]> =>
  selected(db, filter, piece)
    .select((e) => ['outcome', e.fn.countAll<number>().as('taps')])
    .groupBy('outcome')
    .execute()

/** May be slow. By the chip's current group and item; null for removed chips. */
export const countByChip = async (
  db: Queries,
  filter: TapsCounted,
  piece: TapPiece,
  by: 'chipGroupId' | 'itemId',
): Promise<(OutcomeCount & { teamId: number | null; key: string | number | null })[]> => {
  // Counting by chip first sorts the UIDs, so that neighbors are looked up together.
  const ofChips = selected(db, filter, piece)
    .select((e) => ['chipUid', 'outcome', e.fn.countAll<number>().as('taps')])
    .groupBy(['chipUid', 'outcome'])
    .as('counted')
  const rows = await db
    .selectFrom(ofChips)
    .leftJoin('chips', 'chips.uid', 'counted.chipUid')
    .select((e) => [
      'chips.teamId',
      `chips.${by} as key`,
      'counted.outcome',
      e.fn.sum('counted.taps').as('taps'),
    ])
    .groupBy(['chips.teamId', `chips.${by}`, 'counted.outcome'])
    .execute()
  return rows.map((row) => ({ ...row, taps: Number(row.taps) }))
}

function selected(
  db: Queries,
  { teamId, chipGroupId, outcome, includeSetup, since, until }: TapsCounted,
  piece: TapPiece,
) {
  let query = db
    .selectFrom('taps')
    .where('id', '>', piece.after)
    .where('id', '<=', piece.upTo)
    .where('at', '>=', since)
    .where('at', '<', until)
  if (!includeSetup) query = query.where('via', '!=', 'setup')
  // The sum keeps SQLite from using the index on teams, which does not include times. Taps of unknown chips
  // belong to all teams.
  if (teamId !== undefined)
    query = query.where((e) => e.or([e(e('teamId', '+', e.lit(0)), '=', teamId), e('teamId', 'is', null)]))
  if (chipGroupId !== undefined)
    query = query.where(
      (e) => e.selectFrom('chips').select('chipGroupId').whereRef('chips.uid', '=', 'taps.chipUid'),
      '=',
      chipGroupId,
    )
  if (outcome === 'refused') return query.where('outcome', '!=', 'valid')
  return outcome === undefined ? query : query.where('outcome', '=', outcome)
}

/** @returns the ID of the newest tap up to an ID, or undefined if there is none */
export const lastTapUpTo = async (db: Queries, id: number): Promise<number | undefined> =>
  (
    await db
      .selectFrom('taps')
      .select('id')
      .where('id', '<=', id)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.id

/**
 * True if all taps of the piece are older, and so those before it. Refused taps are stored a moment late, and a clock may
 * have been wrong for a while, so that one older tap says nothing.
 */
export const isOlderPiece = async (
  db: Queries,
  { after, upTo }: TapPiece,
  since: string,
): Promise<boolean> => {
  const { at } = await db
    .selectFrom('taps')
    .select((e) => e.fn.max<string | null>('at').as('at'))
    .where('id', '>', after)
    .where('id', '<=', upTo)
    .executeTakeFirstOrThrow()
  return (at ?? '') < since
}

const tapsPerPiece = 10_000

/** @returns an ID up to which all taps are from before the date. IDs are nearly in the order of time. */
export async function lastIdBefore(db: Queries, date: string): Promise<number> {
  let [low, high] = [0, (await lastTapUpTo(db, Number.MAX_SAFE_INTEGER)) ?? 0]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tap = await db
      .selectFrom('taps')
      .select(['id', 'at'])
      .where('id', '>=', middle)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (tap === undefined || tap.at >= date) high = middle - 1
    else low = Math.max(middle, Math.min(tap.id, high))
  }
  for (;;) {
    const upTo = await lastTapUpTo(db, low)
    if (upTo === undefined || (await isOlderPiece(db, { after: upTo - tapsPerPiece, upTo }, date))) return low
    low = upTo - tapsPerPiece
  }
}

export interface KeptSince {
  /** The time of the oldest tap; null if none was ever deleted. */
  taps: string | null
  refused: string | null
}

export async function tapsKeptSince(db: Queries): Promise<KeptSince> {
  if (Number((await setting(db, 'tapsDeleted')) ?? 0) === 0) return { taps: null, refused: null }
  const first = () => db.selectFrom('taps').select('at').orderBy('id').limit(1)
  const oldest = await first().executeTakeFirst()
  // A literal, for the partial index.
  const refused = await first()
    .where('outcome', '!=', sql.lit('valid' as const))
    .executeTakeFirst()
  return { taps: oldest?.at ?? null, refused: refused?.at ?? null }
}
