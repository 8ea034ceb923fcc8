import { sql } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import { setting } from '../database/settings.ts'
import { named, statement } from '../database/statement.ts'
import type { TapRow } from '../schema/schema.ts'
import { lastIdBefore } from './tap-counts.ts'

export const shown = [
  'id',
  'at',
  'chipUid',
  'teamId',
  'keySetId',
  'counter',
  'outcome',
  'via',
  'tamper',
  'fileData',
] as const

/** A tap in the form that is shown. */
export type ShownTap = Pick<TapRow, (typeof shown)[number]>
export type NewTap = Omit<ShownTap, 'id' | 'tamper' | 'fileData'> &
  Partial<Pick<TapRow, 'tamper' | 'fileData'>>

const insert = statement<Omit<ShownTap, 'id' | 'fileData'>>()((db, p) =>
  db
    .insertInto('taps')
    .values(named(p, ['at', 'chipUid', 'teamId', 'keySetId', 'counter', 'outcome', 'via', 'tamper'])),
)

/** Taps that used nothing up. */
export async function insertRefusedTaps(db: Queries, taps: readonly NewTap[]): Promise<void> {
  for (const tap of taps) await insert.run(db, { tamper: null, ...tap })
}

/**
 * By the chip's counter, or by date where the taps are of two chips: IDs come from a sequence, which is no order among
 * daemons. A deleted tap is earlier than a stored one.
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
  withoutSetup?: boolean | undefined
  since?: string | undefined
  /** Before this date. */
  until?: string | undefined
  before?: number | undefined
  after?: number | undefined
  limit: number
}

/** Newest first; may be slow. Taps of unknown chips have no team and are listed for every team. */
export async function listTaps(db: Queries, { teamId, uid, ...filter }: TapFilter): Promise<ShownTap[]> {
  if (uid !== undefined) return tapsOfChip(db, uid, { teamId, ...filter })
  const after = filter.since === undefined ? undefined : await lastIdBefore(db, filter.since)
  const newest = () => {
    const query = tapsWhere(db, filter)
    return after === undefined ? query : query.where('id', '>', after)
  }
  if (teamId === undefined) return newest().execute()
  const { outcome } = filter
  const isDense = (is: number | null) =>
    // All taps of unknown chips are refused.
    outcome === undefined || outcome === 'valid' || (is === null && outcome === 'refused')
  const ofTeam = (is: number | null) =>
    newest().where((eb) => {
      // The sum stops SQLite from using the team index and scanning all taps of a team for a few refused ones.
      const team = isDense(is) ? eb.ref('teamId') : eb('teamId', '+', eb.lit(0))
      return is === null ? eb(team, 'is', null) : eb(team, '=', is)
    })
  const own = await ofTeam(teamId).execute()
  const nobodys = await ofTeam(null).execute()
  return [...own, ...nobodys].sort((a, b) => b.id - a.id).slice(0, filter.limit)
}

/** Valid taps form a chain; the others are few enough for an index. */
async function tapsOfChip(
  db: Queries,
  uid: string,
  { teamId, outcome, ...filter }: Omit<TapFilter, 'uid'>,
): Promise<ShownTap[]> {
  const ofTeam = (query: ReturnType<typeof tapsWhere>) =>
    teamId === undefined
      ? query
      : query.where((e) => e.or([e('teamId', '=', teamId), e('teamId', 'is', null)]))
  const found: ShownTap[] = []
  if (outcome === undefined || outcome === 'valid') {
    const ids = await chainOf(db, uid, filter.before)
    for (let at = 0; at < ids.length && found.length < filter.limit; at += rowsAt) {
      const used = tapsWhere(db, { ...filter, outcome: undefined })
        .where('id', 'in', ids.slice(at, at + rowsAt))
        // A HaLo chip's chain continues under another UID.
        .where('chipUid', '=', uid)
      found.push(...(await ofTeam(used).execute()))
    }
  }
  if (outcome !== 'valid') {
    const refused = tapsWhere(db, { ...filter, outcome: outcome ?? 'refused' }).where('chipUid', '=', uid)
    found.push(...(await ofTeam(refused).execute()))
  }
  return found.sort((a, b) => b.id - a.id).slice(0, filter.limit)
}

const rowsAt = 500

/**
 * Newest first; also for removed chips. A separate query: joined with that of the taps, PostgreSQL would expect half
 * of all taps, and read them all.
 */
async function chainOf(db: Queries, uid: string, before = Number.POSITIVE_INFINITY): Promise<number[]> {
  const rows = await db
    .withRecursive('chain', (recursive) =>
      recursive
        .selectFrom('chips')
        .select('lastTap as id')
        .where('uid', '=', uid)
        .union(recursive.selectFrom('removedChips').select('lastTap as id').where('uid', '=', uid))
        .union(
          // A join could make PostgreSQL read all taps at each step.
          recursive
            .selectFrom('chain')
            .select((e) =>
              e.selectFrom('taps').select('taps.previous').whereRef('taps.id', '=', 'chain.id').as('id'),
            )
            .where('chain.id', 'is not', null),
        ),
    )
    .selectFrom('chain')
    .select('chain.id')
    .execute()
  const ids = rows.flatMap(({ id }) => (id === null || id >= before ? [] : [id]))
  return ids.sort((a, b) => b - a)
}

function tapsWhere(
  db: Queries,
  { outcome, withoutSetup, since, until, before, after, limit }: Omit<TapFilter, 'teamId' | 'uid'>,
) {
  let query = db.selectFrom('taps').select(shown).orderBy('id', 'desc').limit(limit)
  if (withoutSetup) query = query.where('via', '!=', 'setup')
  if (outcome !== undefined && outcome !== 'valid') query = query.where('outcome', '!=', valid)
  if (outcome !== undefined && outcome !== 'refused') query = query.where('outcome', '=', outcome)
  if (since !== undefined) query = query.where('at', '>=', since)
  if (until !== undefined) query = query.where('at', '<', until)
  if (before !== undefined) query = query.where('id', '<', before)
  if (after !== undefined) query = query.where('id', '>', after)
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
  return (await newestTap(db)) - Number((await setting(db, 'tapsDeleted')) ?? 0)
}

/** The newest tap's ID; 0: there is none. */
export async function newestTap(db: Queries): Promise<number> {
  const newest = db.selectFrom('taps').select((e) => e.fn.max<number | null>('id').as('id'))
  return Number((await newest.executeTakeFirstOrThrow()).id ?? 0)
}
