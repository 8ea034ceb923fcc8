import type { Queries } from '../database/database.ts'
import type { TransactionRow, TransactionStateName } from '../schema/schema.ts'

interface Newest {
  teamId: number | undefined
  limit: number
}

/** The newest transactions, of which the columns that are counted are read. */
const newest = (db: Queries, { teamId, limit }: Newest) => {
  const query = db.selectFrom('transactions').orderBy('id', 'desc').limit(limit)
  return teamId === undefined ? query : query.where('teamId', '=', teamId)
}

/** Newest first. */
export const recentOfKind = async (
  db: Queries,
  { kind, since, ...of }: Newest & { kind: string; since: string },
): Promise<{ rows: Pick<TransactionRow, 'createdAt' | 'subject'>[]; isComplete: boolean }> => {
  const rows = await db
    .selectFrom(newest(db, of).select(['kind', 'createdAt', 'subject']).as('newest'))
    .select(['newest.createdAt', 'newest.subject'])
    .where('newest.kind', '=', kind)
    .where('newest.createdAt', '>=', since)
    .execute()
  return { rows, isComplete: await reaches(db, of, since) }
}

/** True if the newest ones include all since then. */
async function reaches(db: Queries, of: Newest, since: string): Promise<boolean> {
  const [beyond] = await newest(db, { ...of, limit: 1 })
    .select('createdAt')
    .offset(of.limit)
    .execute()
  return beyond === undefined || beyond.createdAt < since
}

export type CountedTransaction = Pick<
  TransactionRow,
  'id' | 'chainId' | 'kind' | 'state' | 'createdAt' | 'settledAt'
> & {
  /** The limit of the attempt that was mined. null: none was, or a group sent it. */
  gas: number | null
}

export async function recentTransactions(
  db: Queries,
  { since, ...of }: Newest & { since: string },
): Promise<{ rows: CountedTransaction[]; isComplete: boolean }> {
  const rows = await db
    .selectFrom(
      newest(db, of)
        .select(['id', 'chainId', 'kind', 'state', 'createdAt', 'settledAt', 'minedHash', 'groupId'])
        .as('newest'),
    )
    .leftJoin('transactionAttempts', (join) =>
      join
        .onRef('transactionAttempts.transactionId', '=', 'newest.id')
        .onRef('transactionAttempts.hash', '=', 'newest.minedHash'),
    )
    .select(['newest.id', 'newest.chainId', 'newest.kind', 'newest.state', 'newest.createdAt'])
    .select(['newest.settledAt', 'transactionAttempts.gas'])
    .where('newest.createdAt', '>=', since)
    .execute()
  return { rows, isComplete: await reaches(db, of, since) }
}

export interface OpenTransactions {
  state: TransactionStateName
  transactions: number
  oldest: string
}

/** Unsettled ones, by the index of these. @param of `limit`: how many are counted */
export async function openByState(
  db: Queries,
  { teamId, chainIds, limit }: Newest & { chainIds: readonly number[] },
): Promise<OpenTransactions[]> {
  if (chainIds.length === 0) return []
  const open = db
    .selectFrom('transactions')
    .select(['state', 'teamId', 'createdAt'])
    .where('chainId', 'in', chainIds)
    .where('settledAt', 'is', null)
    .limit(limit)
  let query = db
    .selectFrom(open.as('open'))
    .select((e) => [
      'open.state',
      e.fn.countAll<number>().as('transactions'),
      e.fn.min('open.createdAt').as('oldest'),
    ])
    .groupBy('open.state')
  if (teamId !== undefined) query = query.where('open.teamId', '=', teamId)
  return (await query.execute()).map((row) => ({ ...row, transactions: Number(row.transactions) }))
}
