import { type Hex, isHex } from 'viem'
import type { Queries } from '../database/database.ts'
import { insertedId, named, statement } from '../database/statement.ts'
import type { TransactionAttemptRow, TransactionRow } from '../schema/schema.ts'

const insertColumns = [
  ...(['teamId', 'chainId', 'signer', 'candidates', 'kind', 'topic', 'subject', 'createdAt'] as const),
  ...(['to', 'data', 'gas', 'builder', 'args', 'sequence'] as const),
] as const
type NewTransaction = Pick<TransactionRow, (typeof insertColumns)[number]>

const insert = statement<NewTransaction>()((db, p) =>
  db
    .insertInto('transactions')
    .values({ ...named(p, insertColumns), updatedAt: p.createdAt, state: 'queued', signings: 0 })
    .returning('id'),
)
/** Kinds by the contract's function. These transactions move tokens, and change no recorded data of a contract. */
export const moveKinds = { claimNFT: 'phygital-transfer', mintNFT: 'phygital-mint' } as const
/** Each sends several mints of one contract. Builders of groups have the same names. See groups.ts. */
export const groupKinds = { phygital: 'phygital-mints', guestbook: 'guestbook-mints' } as const
const groups: readonly (string | null | undefined)[] = Object.values(groupKinds)
export const isGroup = (kind: string | null | undefined): boolean => groups.includes(kind)

/** Call it in the transaction that uses up its authorization. @returns its ID */
export const insertTransaction = async (
  db: Queries,
  row: Omit<NewTransaction, 'candidates' | 'sequence'> & Partial<NewTransaction>,
): Promise<number> => insertedId(await insert.first(db, { candidates: null, sequence: null, ...row }))

const transactions = (db: Queries) => db.selectFrom('transactions').selectAll()

const byId = statement<{ id: number }>()((db, p) => transactions(db).where('id', '=', p.id))
export const findTransaction = (db: Queries, id: number): Promise<TransactionRow | undefined> =>
  byId.first(db, { id })

export const findTransactions = (db: Queries, ids: readonly number[]): Promise<TransactionRow[]> =>
  transactions(db).where('id', 'in', ids).execute()

export type OfSigner = { chainId: number; signer: string }

/** Ordered by nonce. Members of groups have none. */
export const openTransactions = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['signed', 'broadcast', 'mined'])
    .where('nonce', 'is not', null)
    .where('settledAt', 'is', null)
    .orderBy('nonce'),
).all

const count = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('settledAt', 'is', null),
)
export const countUnsettled = async (db: Queries, of: OfSigner): Promise<number> =>
  (await count.first(db, of))?.count ?? 0

/** The first that cannot continue; one that waits for earlier ones does not count. */
export const firstWaiting = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .select(['id', 'waiting', 'waitingWords'])
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('settledAt', 'is', null)
    .where('waiting', 'is not', null)
    .where('waiting', '!=', 'gas-estimate')
    .orderBy('id')
    .limit(1),
).first

export const transactionsFromNonce = statement<{
  chainId: number
  sender: string
  nonce: number
  limit: number
}>()((db, p) =>
  db
    .selectFrom('transactions')
    .select(['id', 'nonce', 'state', 'settledAt', 'minedHash', 'blockHash', 'blockNumber'])
    .where('chainId', '=', p.chainId)
    .where('sender', '=', p.sender)
    .where('nonce', '>=', p.nonce)
    .where('nonce', 'is not', null)
    .where('groupId', 'is', null)
    .orderBy('nonce')
    .limit(p.limit),
).all

const counting = statement<{ chainId: number; counter: string }>()((db, p) =>
  db
    .selectFrom('transactions')
    .select('sequenceValue')
    .where('chainId', '=', p.chainId)
    .where('state', 'in', ['signed', 'broadcast', 'mined'])
    .where('settledAt', 'is', null)
    .where('sequence', '=', p.counter)
    .where('abandonedBecause', 'is', null)
    .where((e) => e.or([e('succeeded', 'is', null), e('succeeded', '=', 1)]))
    .orderBy('nonce'),
)
/** Unsettled transactions that advance a contract counter, ordered by nonce. */
export const countedUnderWay = async (db: Queries, chainId: number, counter: string) =>
  (await counting.all(db, { chainId, counter })).map(({ sequenceValue }) => ({
    counter,
    value: BigInt(sequenceValue ?? 0),
  }))

const superseding = statement<{ topic: string; id: number }>()((db, p) =>
  db
    .selectFrom('transactions')
    .select(['id', 'abandonedBecause', 'settledAt'])
    .where('topic', '=', p.topic)
    .where('id', '>', p.id)
    .where('state', 'not in', ['reverted', 'cancelled'])
    .orderBy('id', 'desc')
    .limit(1),
)
/** The latest later transaction with the same topic that has taken effect or still may. */
export const supersededBy = async (
  db: Queries,
  { id, topic }: Pick<TransactionRow, 'id' | 'topic'>,
): Promise<Pick<TransactionRow, 'id' | 'abandonedBecause' | 'settledAt'> | undefined> =>
  topic === null ? undefined : superseding.first(db, { topic, id })

const others = statement<{ topic: string; id: number }>()((db, p) =>
  db
    .selectFrom('transactions')
    .leftJoin('transactionAttempts', 'transactionAttempts.transactionId', 'transactions.id')
    .select(['transactions.id', 'state', 'settledAt', 'minedHash', 'hash'])
    .where('topic', '=', p.topic)
    .where('transactions.id', '!=', p.id),
)
/** A row for each attempt. */
export const othersOfTopic = others.all

const lastWithTopic = statement<{ topic: string }>()((db, p) =>
  db
    .selectFrom('transactions')
    .select(['id', 'state', 'data', 'settledAt', 'abandonedBecause'])
    .where('topic', '=', p.topic)
    .where('state', 'not in', ['reverted', 'cancelled'])
    .orderBy('id', 'desc')
    .limit(1),
)
/** The latest transaction of a topic that has taken effect or still may. */
export const lastOfTopic = (
  db: Queries,
  topic: string,
): Promise<Pick<TransactionRow, 'id' | 'state' | 'data' | 'settledAt' | 'abandonedBecause'> | undefined> =>
  lastWithTopic.first(db, { topic })

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
