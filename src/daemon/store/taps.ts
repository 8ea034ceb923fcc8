import { sql } from 'kysely'
import { engineOf, type Queries } from './database.ts'
import type { TapRow } from './schema.ts'
import { setting } from './settings.ts'
import { insertedId, named, statement } from './statement.ts'

export type NewTap = Omit<TapRow, 'id' | 'tamper'> & Partial<Pick<TapRow, 'tamper'>>

const insert = statement<Omit<TapRow, 'id'>>()((db, p) =>
  db
    .insertInto('taps')
    .values(named(p, ['at', 'chipUid', 'teamId', 'keySetId', 'counter', 'outcome', 'via', 'tamper']))
    .returning('id'),
)

export const insertTap = async (db: Queries, tap: NewTap): Promise<number> =>
  insertedId(await insert.first(db, { tamper: null, ...tap }))

export async function insertTaps(db: Queries, taps: readonly NewTap[]): Promise<void> {
  for (const tap of taps) await insertTap(db, tap)
}

/**
 * By the chip's counter, or by date where the taps are of two chips: IDs come from a sequence, which is no order among
 * daemons. A tap that is no longer kept is earlier than one that is.
 */
export async function isLaterTap(db: Queries, id: number, than: number): Promise<boolean> {
  if (id === than) return false
  const rows = await db
    .selectFrom('taps')
    .select(['id', 'chipUid', 'counter', 'at'])
    .where('id', 'in', [id, than])
    .execute()
  const [later, earlier] = [id, than].map((one) => rows.find((row) => row.id === one))
  if (!later || !earlier) return earlier === undefined
  return later.chipUid === earlier.chipUid && later.counter !== null && earlier.counter !== null
    ? later.counter > earlier.counter
    : later.at > earlier.at
}

// A literal, because SQLite uses the partial index on refused taps only if the SQL text contains the value.
const valid = sql.lit('valid' as const)

export async function countRefusedTaps(db: Queries): Promise<number> {
  const { taps } = await db
    .selectFrom('taps')
    .select((e) => e.fn.countAll<number>().as('taps'))
    .where('outcome', '!=', valid)
    .executeTakeFirstOrThrow()
  return Number(taps)
}

/** @returns the number of deleted taps */
export async function deleteOldestRefusedTaps(db: Queries, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('taps')
    .where('id', 'in', (of) =>
      of.selectFrom('taps').select('id').where('outcome', '!=', valid).orderBy('id').limit(limit),
    )
    .executeTakeFirstOrThrow()
  await countDeletedTaps(db, Number(numDeletedRows))
  return Number(numDeletedRows)
}

/** countAll computes the number of taps from their IDs. */
export const countDeletedTaps = (db: Queries, taps: number) =>
  db
    .updateTable('settings')
    .set((e) => ({ value: e.cast<string>(e(e.cast<number>('value', 'bigint'), '+', taps), 'text') }))
    .where('key', '=', 'tapsDeleted')
    .execute()

export interface TapFilter {
  teamId?: number | undefined
  uid?: string | undefined
  outcome?: TapRow['outcome'] | 'refused' | undefined
  since?: string | undefined
  before?: number | undefined
  limit: number
}

/** Newest first; may be slow. Taps of unknown chips have no team and are listed for every team. */
export async function listTaps(db: Queries, { teamId, ...filter }: TapFilter): Promise<TapRow[]> {
  if (teamId === undefined) return tapsWhere(db, filter).execute()
  const { outcome } = filter
  const isDense = outcome === undefined || outcome === 'valid'
  const ofTeam = (is: number | null) =>
    tapsWhere(db, filter).where((eb) => {
      // The sum stops SQLite from using the team index and scanning all taps of a team for a few refused ones.
      const team = isDense ? eb.ref('teamId') : eb('teamId', '+', eb.lit(0))
      return is === null ? eb(team, 'is', null) : eb(team, '=', is)
    })
  const own = await ofTeam(teamId).execute()
  const nobodys = await ofTeam(null).execute()
  return [...own, ...nobodys].sort((a, b) => b.id - a.id).slice(0, filter.limit)
}

function tapsWhere(db: Queries, { uid, outcome, since, before, limit }: Omit<TapFilter, 'teamId'>) {
  let query = db.selectFrom('taps').selectAll().orderBy('id', 'desc').limit(limit)
  if (uid !== undefined) query = query.where('chipUid', '=', uid)
  if (outcome !== undefined && outcome !== 'valid') query = query.where('outcome', '!=', valid)
  if (outcome !== undefined && outcome !== 'refused') query = query.where('outcome', '=', outcome)
  if (since !== undefined) query = query.where('at', '>=', since)
  if (before !== undefined) query = query.where('id', '<', before)
  return query
}

export interface Counts {
  teams: number
  keySets: number
  chips: number
  taps: number
}

/** Chips and taps use stored counts, because there may be millions. */
export async function countAll(db: Queries): Promise<Counts> {
  const count = async (table: 'teams' | 'keySets') => {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    return Number(row.rows)
  }
  const { chips } = await db
    .selectFrom('chipGroups')
    .select(({ fn }) => fn.sum<number | null>('chips').as('chips'))
    .executeTakeFirstOrThrow()
  return {
    teams: await count('teams'),
    keySets: await count('keySets'),
    chips: Number(chips ?? 0),
    taps: await countTaps(db),
  }
}

async function countTaps(db: Queries): Promise<number> {
  const { tapMonths } = engineOf(db)
  if (tapMonths) return tapMonths.count(db)
  // Every recorded tap took the next ID.
  const { last } = await db
    .selectFrom('taps')
    .select(({ fn }) => fn.max<number | null>('id').as('last'))
    .executeTakeFirstOrThrow()
  return Number(last ?? 0) - Number((await setting(db, 'tapsDeleted')) ?? 0)
}
