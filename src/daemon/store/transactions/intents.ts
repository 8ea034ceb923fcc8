import type { Queries } from '../database.ts'
import type { TransactionRow } from '../schema.ts'
import { insertedId, named, statement } from '../statement.ts'

export type NewTransaction = Pick<
  TransactionRow,
  | 'teamId'
  | 'chainId'
  | 'signer'
  | 'kind'
  | 'topic'
  | 'subject'
  | 'createdAt'
  | 'to'
  | 'data'
  | 'gas'
  | 'builder'
  | 'args'
>

const insert = statement<NewTransaction>()((db, p) =>
  db
    .insertInto('transactions')
    .values({
      ...named(p, [
        'teamId',
        'chainId',
        'signer',
        'kind',
        'topic',
        'subject',
        'createdAt',
        'to',
        'data',
        'gas',
        'builder',
        'args',
      ]),
      updatedAt: p.createdAt,
      state: 'queued',
      sender: null,
      nonce: null,
      sequence: null,
      sequenceValue: null,
      firstHash: null,
      minedHash: null,
      blockHash: null,
      blockNumber: null,
      succeeded: null,
      reason: null,
      waiting: null,
      signings: 0,
      abandonedBecause: null,
      settledAt: null,
    })
    .returning('id'),
)
/** @returns its id. Belongs in the write that takes what authorises it. */
export const insertTransaction = async (db: Queries, row: NewTransaction): Promise<number> =>
  insertedId(await insert.first(db, row))

const byId = statement<{ id: number }>()((db, p) =>
  db.selectFrom('transactions').selectAll().where('id', '=', p.id),
)
export const findTransaction = (db: Queries, id: number): Promise<TransactionRow | undefined> =>
  byId.first(db, { id })

type OfSigner = { chainId: number; signer: string }

const queued = statement<OfSigner & { limit: number }>()((db, p) =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', '=', 'queued')
    .where('settledAt', 'is', null)
    .orderBy('id')
    .limit(p.limit),
)
/** Those that have no nonce yet, oldest first. */
export const queuedTransactions = (db: Queries, of: OfSigner & { limit: number }) => queued.all(db, of)

const open = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['signed', 'broadcast', 'mined'])
    .where('settledAt', 'is', null)
    .orderBy('nonce'),
)
/** Those that have a nonce and are not settled, in order of nonce. */
export const openTransactions = (db: Queries, of: OfSigner) => open.all(db, of)

const count = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('settledAt', 'is', null),
)
/** How many are not settled. */
export const countUnsettled = async (db: Queries, of: OfSigner): Promise<number> =>
  (await count.first(db, of))?.count ?? 0

const fromNonce = statement<{ chainId: number; sender: string; nonce: number; limit: number }>()((db, p) =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('chainId', '=', p.chainId)
    .where('sender', '=', p.sender)
    .where('nonce', '>=', p.nonce)
    .where('nonce', 'is not', null)
    .orderBy('nonce')
    .limit(p.limit),
)
/** All of a sender's that have this nonce or a higher one, settled or not. */
export const transactionsFromNonce = (
  db: Queries,
  of: { chainId: number; sender: string; nonce: number; limit: number },
) => fromNonce.all(db, of)

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
/** What is under way that moves a counter of a contract, in order of nonce. */
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
/** The latest that decides about the same thing, has or may have its effect, and was recorded after this one. */
export const supersededBy = async (
  db: Queries,
  { id, topic }: Pick<TransactionRow, 'id' | 'topic'>,
): Promise<Pick<TransactionRow, 'id' | 'abandonedBecause' | 'settledAt'> | undefined> =>
  topic === null ? undefined : superseding.first(db, { topic, id })

const lastOf = statement<{ topic: string }>()((db, p) =>
  db
    .selectFrom('transactions')
    .select(['id', 'data', 'settledAt', 'abandonedBecause'])
    .where('topic', '=', p.topic)
    .where('state', 'not in', ['reverted', 'cancelled'])
    .orderBy('id', 'desc')
    .limit(1),
)
/** The latest that decides about something, and has its effect or may have it. */
export const lastOfTopic = (
  db: Queries,
  topic: string,
): Promise<Pick<TransactionRow, 'id' | 'data' | 'settledAt' | 'abandonedBecause'> | undefined> =>
  lastOf.first(db, { topic })
