import type { Queries } from './database.ts'
import type { TapRow } from './schema.ts'
import { named, statement } from './statement.ts'

export type NewTap = Omit<TapRow, 'id'>

const insert = statement<NewTap>()((db, p) =>
  db
    .insertInto('taps')
    .values(named(p, ['at', 'chipUid', 'teamId', 'keySetId', 'counter', 'outcome', 'via'])),
)

/** Records a tap and returns its id. */
export const insertTap = (db: Queries, tap: NewTap): Promise<number> => insert.insert(db, tap)

export async function insertTaps(db: Queries, taps: readonly NewTap[]): Promise<void> {
  for (const tap of taps) await insert.run(db, tap)
}

export interface TapFilter {
  teamId?: number | undefined
  uid?: string | undefined
  outcome?: TapRow['outcome'] | 'refused' | undefined
  since?: string | undefined
  before?: number | undefined
  limit: number
}

/** Newest first. */
export function listTaps(db: Queries, filter: TapFilter): Promise<TapRow[]> {
  let query = db.selectFrom('taps').selectAll().orderBy('id', 'desc').limit(filter.limit)
  const { teamId, uid, outcome, since, before } = filter
  // A tap of nobody's chip belongs to no team, and is worth every operator's look.
  if (teamId !== undefined)
    query = query.where((eb) => eb.or([eb('teamId', '=', teamId), eb('teamId', 'is', null)]))
  if (uid !== undefined) query = query.where('chipUid', '=', uid)
  if (outcome === 'refused') query = query.where('outcome', '!=', 'valid')
  else if (outcome !== undefined) query = query.where('outcome', '=', outcome)
  if (since !== undefined) query = query.where('at', '>=', since)
  if (before !== undefined) query = query.where('id', '<', before)
  return query.execute()
}
