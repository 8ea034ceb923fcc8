import type { Queries } from '../database/database.ts'
import { type TokenLocation, tokenTopic } from '../phygitals/tokens.ts'
import type { TransactionAttemptRow, TransactionRow, TransactionStateName } from '../schema/schema.ts'
import { attemptsOf, findTransaction, moveKinds } from './intents.ts'

export interface TransactionFilter {
  teamId?: number | undefined
  chainId?: number | undefined
  state?: TransactionStateName | undefined
  kind?: string | undefined
  waiting?: boolean | undefined
  /** Not settled. */
  isOpen?: boolean | undefined
  hash?: string | undefined
  /** Returns only IDs below this one. */
  before?: number | undefined
  limit: number
}

/** Newest first. */
export function listTransactions(db: Queries, filter: TransactionFilter): Promise<TransactionRow[]> {
  const { teamId, chainId, state, kind, waiting, isOpen, hash, before } = filter
  let query = db.selectFrom('transactions').selectAll().orderBy('id', 'desc').limit(filter.limit)
  if (teamId !== undefined) query = query.where('teamId', '=', teamId)
  if (chainId !== undefined) query = query.where('chainId', '=', chainId)
  if (state !== undefined) query = query.where('state', '=', state)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (waiting === true) query = query.where('waiting', 'is not', null)
  if (waiting === true || isOpen === true) query = query.where('settledAt', 'is', null)
  if (before !== undefined) query = query.where('id', '<', before)
  if (hash !== undefined) {
    query = query.where('id', 'in', (e) =>
      e.selectFrom('transactionAttempts').select('transactionId').where('hash', '=', hash),
    )
  }
  return query.execute()
}

export type ShownTransaction = TransactionRow & { attempts: Omit<TransactionAttemptRow, 'raw'>[] }

/** Omits the signed bytes of attempts. */
export async function showTransaction(db: Queries, id: number): Promise<ShownTransaction | undefined> {
  const transaction = await findTransaction(db, id)
  if (!transaction) return undefined
  const attempts = (await attemptsOf(db, id)).map(({ raw: _, ...attempt }) => attempt)
  return { ...transaction, attempts }
}

/** Any attempt may have the hash; an effect comes before an empty transaction. @param hash in lower case */
export async function findTransactionByHash(
  db: Queries,
  hash: string,
): Promise<ShownTransaction | undefined> {
  const attempt = await db
    .selectFrom('transactionAttempts')
    .select('transactionId')
    .where('hash', '=', hash)
    .orderBy('purpose')
    .orderBy('id', 'desc')
    .executeTakeFirst()
  return attempt && showTransaction(db, attempt.transactionId)
}

/** Unique within a chain. @param token `contractAddress` as EIP-55 */
export const tokenKey = ({
  contractAddress,
  tokenId,
}: Pick<TokenLocation, 'contractAddress' | 'tokenId'>): string => `${contractAddress}/${tokenId}`

export interface PendingMove {
  transactionId: number
  /** EIP-55; undefined after a cancellation request, because it may or may not succeed. */
  recipient: string | undefined
}

const movesUnderWay = (db: Queries) =>
  db
    .selectFrom('transactions')
    .select(['id', 'subject', 'abandonedBecause'])
    .where('kind', 'in', Object.values(moveKinds))
    .where('settledAt', 'is', null)

type MoveRow = Pick<TransactionRow, 'id' | 'subject' | 'abandonedBecause'>

const toPendingMove = ({ id: transactionId, subject, abandonedBecause }: MoveRow) => {
  // Stored by recordTransfer.
  const { recipient, ...token }: TokenLocation & { recipient: string } = JSON.parse(subject)
  return { token, move: { transactionId, recipient: abandonedBecause === null ? recipient : undefined } }
}

/** @returns the last unsettled transfer or mint of each token, by `tokenKey` */
export async function tokensUnderWay(db: Queries, chainId: number): Promise<Map<string, PendingMove>> {
  const rows = await movesUnderWay(db).where('chainId', '=', chainId).orderBy('id').execute()
  return new Map(rows.map(toPendingMove).map(({ token, move }) => [tokenKey(token), move]))
}

/** @returns the first unsettled transfers and mints of a token */
export async function movesOfTokenUnderWay(db: Queries, token: TokenLocation): Promise<PendingMove[]> {
  const rows = await movesUnderWay(db).where('topic', '=', tokenTopic(token)).orderBy('id').limit(3).execute()
  return rows.map((row) => toPendingMove(row).move)
}

/** @returns the last unsettled transfer or mint of a token */
export async function moveUnderWay(db: Queries, token: TokenLocation): Promise<PendingMove | undefined> {
  const row = await movesUnderWay(db)
    .where('topic', '=', tokenTopic(token))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && toPendingMove(row).move
}
