import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { setSettingOnce, setting } from '../database/settings.ts'
import { once } from '../database/statement.ts'
import type { TapHourRow, TapMinuteRow, TapRow } from '../schema/schema.ts'
import type { TapPiece } from './tap-counts.ts'

const counted = 'tapsCounted'

/** The ID of the last tap that is counted; undefined: none was ever. */
export const tapsCountedTo = async (db: Queries): Promise<number | undefined> => {
  const value = await setting(db, counted)
  return value === undefined ? undefined : Number(value)
}

export const beginTapCounts = (trx: Queries, id: number) => setSettingOnce(trx, counted, String(id))

/** Only one can go on from a tap. */
export const advanceTapCounts = (trx: Queries, { after, upTo }: TapPiece): Promise<boolean> =>
  once(
    trx
      .updateTable('settings')
      .set({ value: String(upTo) })
      .where('key', '=', counted)
      .where('value', '=', String(after)),
  )

const inPiece = (db: Queries, { after, upTo }: TapPiece) =>
  db.selectFrom('taps').where('id', '>', after).where('id', '<=', upTo).where('via', '!=', 'setup')

/** Reads each tap of the piece. */
export async function minutesOf(db: Queries, piece: TapPiece): Promise<TapMinuteRow[]> {
  const rows = await db
    .selectFrom(
      inPiece(db, piece)
        .select((e) => [
          e.fn<string>('substr', ['at', e.lit(1), sql.lit(16)]).as('minute'),
          e.fn.coalesce('teamId', e.lit(0)).as('team'),
          'outcome',
        ])
        .as('tapped'),
    )
    .select((e) => ['minute', 'team as teamId', 'outcome', e.fn.countAll<number>().as('taps')])
    .groupBy(['minute', 'team', 'outcome'])
    .execute()
  return rows.map((row) => ({ ...row, taps: Number(row.taps) }))
}

/** Reads each tap of the piece, and its chip. */
export async function hoursOf(db: Queries, piece: TapPiece): Promise<TapHourRow[]> {
  // Counted by chip first, so that each chip is looked up once.
  const ofChips = inPiece(db, piece)
    .select((e) => [
      'chipUid',
      'teamId',
      e.fn<string>('substr', ['at', e.lit(1), sql.lit(13)]).as('hour'),
      e.case().when('outcome', '=', 'valid').then(e.lit(1)).else(e.lit(0)).end().as('isValid'),
    ])
    .as('tapped')
  const perChip = db
    .selectFrom(ofChips)
    .select((e) => [
      'chipUid',
      'teamId',
      'hour',
      e.fn.countAll<number>().as('taps'),
      e.fn.sum<number>('isValid').as('valid'),
    ])
    .groupBy(['chipUid', 'teamId', 'hour'])
    .as('counted')
  const rows = await db
    .selectFrom(
      db
        .selectFrom(perChip)
        .leftJoin('chips', 'chips.uid', 'counted.chipUid')
        .select((e) => [
          'hour',
          e.fn.coalesce('counted.teamId', e.lit(0)).as('team'),
          e.fn.coalesce('chips.chipGroupId', e.lit(0)).as('group'),
          e.fn.coalesce('chips.itemId', sql.lit('')).as('item'),
          'counted.taps',
          'counted.valid',
        ])
        .as('named'),
    )
    .select((e) => [
      'hour',
      'team as teamId',
      'group as chipGroupId',
      'item as itemId',
      e.fn.sum<number>('taps').as('taps'),
      e.fn.sum<number>('valid').as('valid'),
    ])
    .groupBy(['hour', 'team', 'group', 'item'])
    .execute()
  return rows.map((row) => ({ ...row, taps: Number(row.taps), valid: Number(row.valid) }))
}

// Databases limit the number of parameters.
const rowsAt = 500

export async function addTapCounts(
  trx: Queries,
  { minutes, hours }: { minutes: readonly TapMinuteRow[]; hours: readonly TapHourRow[] },
): Promise<void> {
  for (let at = 0; at < minutes.length; at += rowsAt)
    await trx
      .insertInto('tapMinutes')
      .values(minutes.slice(at, at + rowsAt))
      .onConflict((c) =>
        c
          .columns(['minute', 'teamId', 'outcome'])
          .doUpdateSet((e) => ({ taps: e('tapMinutes.taps', '+', e.ref('excluded.taps')) })),
      )
      .execute()
  for (let at = 0; at < hours.length; at += rowsAt)
    await trx
      .insertInto('tapHours')
      .values(hours.slice(at, at + rowsAt))
      .onConflict((c) =>
        c.columns(['hour', 'teamId', 'chipGroupId', 'itemId']).doUpdateSet((e) => ({
          taps: e('tapHours.taps', '+', e.ref('excluded.taps')),
          valid: e('tapHours.valid', '+', e.ref('excluded.valid')),
        })),
      )
      .execute()
}

/** @param before ISO 8601 */
export async function pruneTapCounts(trx: Queries, before: string): Promise<void> {
  await trx.deleteFrom('tapMinutes').where('minute', '<', before.slice(0, 16)).execute()
  await trx.deleteFrom('tapHours').where('hour', '<', before.slice(0, 13)).execute()
}

/** @param teamId its own, and those of unknown chips; undefined: all @param width of a time: 16 by minute, 13 by hour */
export async function tapsByTime(
  db: Queries,
  { teamId, since, width }: { teamId: number | undefined; since: string; width: 13 | 16 },
): Promise<{ time: string; outcome: TapRow['outcome']; taps: number }[]> {
  let query = db
    .selectFrom('tapMinutes')
    .select((e) => [
      e.fn<string>('substr', ['minute', e.lit(1), sql.lit(width)]).as('time'),
      'outcome',
      e.fn.sum<number>('taps').as('taps'),
    ])
    .where('minute', '>=', since.slice(0, 16))
    .groupBy(['time', 'outcome'])
  if (teamId !== undefined) query = query.where('teamId', 'in', [0, teamId])
  return (await query.execute()).map((row) => ({ ...row, taps: Number(row.taps) }))
}

/** @param since ISO 8601, rounded down to the hour */
export async function tapsByThing(
  db: Queries,
  { teamId, since, by }: { teamId: number | undefined; since: string; by: 'chipGroupId' | 'itemId' },
): Promise<{ teamId: number; key: string | number; taps: number; valid: number }[]> {
  let query = db
    .selectFrom('tapHours')
    .select((e) => [
      'teamId',
      `${by} as key`,
      e.fn.sum<number>('taps').as('taps'),
      e.fn.sum<number>('valid').as('valid'),
    ])
    .where('hour', '>=', since.slice(0, 13))
    .groupBy(['teamId', by])
  if (teamId !== undefined) query = query.where('teamId', 'in', [0, teamId])
  return (await query.execute()).map((row) => ({ ...row, taps: Number(row.taps), valid: Number(row.valid) }))
}

// More than this would take too long to count; the newest ones tell enough.
const maxRefused = 20_000

interface Refused {
  teamId: number | undefined
  /** All taps up to this one are older than `since`. */
  after: number
  since: string
}

/** Refused taps of one outcome on one chip, or of one key set, of which there are many. */
export async function manyRefused(
  db: Queries,
  { teamId, after, since, least, by }: Refused & { least: number; by: 'chipUid' | 'keySetId' },
) {
  let newest = db
    .selectFrom('taps')
    .select(['at', 'chipUid', 'keySetId', 'teamId', 'outcome'])
    // A literal, for the partial index.
    .where('outcome', '!=', sql.lit('valid' as const))
    .where('id', '>', after)
    .orderBy('id', 'desc')
    .limit(maxRefused)
  if (teamId !== undefined)
    newest = newest.where((e) => e.or([e(e('teamId', '+', e.lit(0)), '=', teamId), e('teamId', 'is', null)]))
  const rows = await db
    .selectFrom(newest.as('refused'))
    .select((e) => [
      `${by} as key`,
      'teamId',
      'outcome',
      e.fn.countAll<number>().as('taps'),
      e.fn.min('at').as('since'),
      e.fn.max('at').as('last'),
    ])
    .where('at', '>=', since)
    .where(by, 'is not', null)
    .where('outcome', 'in', by === 'chipUid' ? ['replayed', 'wrong-mac'] : ['wrong-mac', 'unknown-chip'])
    .groupBy([by, 'teamId', 'outcome'])
    .having((e) => e.fn.countAll<number>(), '>=', least)
    .orderBy('taps', 'desc')
    .limit(50)
    .execute()
  return rows.map((row) => ({ ...row, taps: Number(row.taps) }))
}

/** The newest ones first. */
export const openedChips = (
  db: Queries,
  { teamId, limit }: { teamId: number | undefined; limit: number },
) => {
  const query = db
    .selectFrom('chips')
    .select(['uid', 'label', 'teamId', 'chipGroupId', 'itemId', 'openedAt'])
    .where('openedAt', 'is not', null)
    .orderBy('openedAt', 'desc')
    .limit(limit)
  return (teamId === undefined ? query : query.where('teamId', '=', teamId)).execute()
}
