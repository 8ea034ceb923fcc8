import type { Queries } from '../database.ts'
import type { TransactionAttemptRow, TransactionRow, TransactionStateName } from '../schema.ts'
import type { TokenLocation } from '../tokens.ts'
import { attemptsOf } from './attempts.ts'
import { findTransaction } from './intents.ts'

export interface TransactionFilter {
  teamId?: number | undefined
  chainId?: number | undefined
  state?: TransactionStateName | undefined
  kind?: string | undefined
  /** Only those with a reason to wait. */
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

/** With every attempt, but without the signed bytes. */
export async function showTransaction(db: Queries, id: number): Promise<ShownTransaction | undefined> {
  const transaction = await findTransaction(db, id)
  if (!transaction) return undefined
  const attempts = (await attemptsOf(db, id)).map(({ raw: _, ...attempt }) => attempt)
  return { ...transaction, attempts }
}

/** Names a token among those of its chain. @param token its address as EIP-55 */
export const tokenKey = ({
  contractAddress,
  tokenId,
}: Pick<TokenLocation, 'contractAddress' | 'tokenId'>): string => `${contractAddress}/${tokenId}`

export interface UnderWay {
  transactionId: number
  /** EIP-55; undefined where its cancellation was requested, so either may happen. */
  recipient: string | undefined
}

/** The last unsettled transfer or mint of each token of a chain, by `tokenKey`. */
export async function tokensUnderWay(db: Queries, chainId: number): Promise<Map<string, UnderWay>> {
  const rows = await db
    .selectFrom('transactions')
    .select(['id', 'subject', 'abandonedBecause'])
    .where('chainId', '=', chainId)
    .where('kind', 'in', ['phygital-transfer', 'phygital-mint'])
    .where('settledAt', 'is', null)
    .orderBy('id')
    .execute()
  return new Map(
    rows.map(({ id: transactionId, subject, abandonedBecause }) => {
      // Written by recordClaim, in this shape.
      const { recipient, ...token }: TokenLocation & { recipient: string } = JSON.parse(subject)
      return [
        tokenKey(token),
        { transactionId, recipient: abandonedBecause === null ? recipient : undefined },
      ]
    }),
  )
}
