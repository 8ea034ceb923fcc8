import type { Queries } from '../database.ts'
import type { TransactionAttemptRow, TransactionRow, TransactionStateName } from '../schema.ts'
import { attemptsOf } from './attempts.ts'
import { findTransaction } from './intents.ts'

export interface TransactionFilter {
  teamId?: number | undefined
  chainId?: number | undefined
  state?: TransactionStateName | undefined
  kind?: string | undefined
  /** What has a reason to wait. */
  waiting?: boolean | undefined
  /** The hash of any attempt. */
  hash?: string | undefined
  /** Only ids below it: the next page. */
  before?: number | undefined
  limit: number
}

/** Newest first. */
export function listTransactions(db: Queries, filter: TransactionFilter): Promise<TransactionRow[]> {
  const { teamId, chainId, state, kind, waiting, hash, before } = filter
  let query = db.selectFrom('transactions').selectAll().orderBy('id', 'desc').limit(filter.limit)
  if (teamId !== undefined) query = query.where('teamId', '=', teamId)
  if (chainId !== undefined) query = query.where('chainId', '=', chainId)
  if (state !== undefined) query = query.where('state', '=', state)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (waiting === true) query = query.where('waiting', 'is not', null).where('settledAt', 'is', null)
  if (before !== undefined) query = query.where('id', '<', before)
  if (hash !== undefined) {
    query = query.where('id', 'in', (e) =>
      e.selectFrom('transactionAttempts').select('transactionId').where('hash', '=', hash),
    )
  }
  return query.execute()
}

export type ShownTransaction = TransactionRow & { attempts: Omit<TransactionAttemptRow, 'raw'>[] }

/** One with every attempt, whatever became of it. The signed bytes stay here. */
export async function showTransaction(db: Queries, id: number): Promise<ShownTransaction | undefined> {
  const transaction = await findTransaction(db, id)
  if (!transaction) return undefined
  const attempts = (await attemptsOf(db, id)).map(({ raw: _, ...attempt }) => attempt)
  return { ...transaction, attempts }
}
