import { type Hex, isHex } from 'viem'
import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { TransactionAttemptRow } from '../schema/schema.ts'

export type NewAttempt = Omit<TransactionAttemptRow, 'id' | 'sentAt' | 'error'>

/** Call it before sending, so that every sent transaction is known. @returns their IDs, in any order */
export const insertAttempts = async (
  db: Queries,
  attempts: readonly NewAttempt[],
): Promise<Pick<TransactionAttemptRow, 'id' | 'transactionId'>[]> =>
  attempts.length === 0
    ? []
    : db.insertInto('transactionAttempts').values(attempts).returning(['id', 'transactionId']).execute()

const ofTransaction = statement<{ transactionId: number }>()((db, p) =>
  db.selectFrom('transactionAttempts').selectAll().where('transactionId', '=', p.transactionId).orderBy('id'),
)
/** Ordered by signing. */
export const attemptsOf = (db: Queries, transactionId: number) => ofTransaction.all(db, { transactionId })

/** Ordered by signing. Only attempts of unsettled transactions. */
export const openAttempts = statement<{ chainId: number; signer: string }>()((db, p) =>
  db
    .selectFrom('transactions')
    .innerJoin('transactionAttempts', 'transactionAttempts.transactionId', 'transactions.id')
    .selectAll('transactionAttempts')
    .where('transactions.chainId', '=', p.chainId)
    .where('transactions.signer', '=', p.signer)
    .where('transactions.state', 'in', ['signed', 'broadcast', 'mined'])
    .where('transactions.settledAt', 'is', null)
    .orderBy('transactionAttempts.id'),
).all

const signed = statement<{ chainId: number; sender: string; nonce: number; after: number; limit: number }>()(
  (db, p) =>
    db
      .selectFrom('transactionAttempts')
      .innerJoin('transactions', 'transactions.id', 'transactionAttempts.transactionId')
      .select(['transactionAttempts.id', 'transactionAttempts.raw'])
      .where('transactions.chainId', '=', p.chainId)
      .where('transactions.sender', '=', p.sender)
      .where('transactionAttempts.nonce', '>=', p.nonce)
      .where('transactionAttempts.id', '>', p.after)
      .orderBy('transactionAttempts.id')
      .limit(p.limit),
)
const page = 100

/** Signed bytes with this nonce and later ones, whether settled or not, in signing order. */
export async function* rawAttemptsSince(
  db: Queries,
  from: { chainId: number; sender: string; nonce: number },
): AsyncGenerator<Hex[]> {
  for (let after = 0; ; ) {
    const rows = await signed.all(db, { ...from, after, limit: page })
    after = rows.at(-1)?.id ?? after
    yield rows.flatMap(({ raw }) => (isHex(raw) ? [raw] : []))
    if (rows.length < page) return
  }
}

export const markAttemptsTaken = (db: Queries, ids: readonly number[], at: string) =>
  db
    .updateTable('transactionAttempts')
    .set((e) => ({ sentAt: e.fn.coalesce('sentAt', e.val(at)), error: null }))
    .where('id', 'in', ids)
    .execute()

const setRefused = statement<{ id: number; error: string }>()((db, p) =>
  db.updateTable('transactionAttempts').set({ error: p.error }).where('id', '=', p.id),
)
export const markAttemptError = (db: Queries, id: number, error: string) => setRefused.run(db, { id, error })
