import type { Queries } from '../database.ts'
import type { TransactionRow } from '../schema.ts'
import { statement } from '../statement.ts'

// Each is conditional on the state that it comes from, and tells whether it happened. All but `queued → cancelled`
// are the relayer's alone, and belong in a write that has shown its lease.

type At = { id: number; at: string }
const changed = async (count: Promise<number>): Promise<boolean> => (await count) === 1

export type SignedIntent = At & {
  sender: string
  nonce: number
  to: string | null
  data: string
  sequence: string | null
  sequenceValue: string | null
  firstHash: string
  signings: number
}
const signed = statement<SignedIntent>()((db, p) =>
  db
    .updateTable('transactions')
    .set({
      state: 'signed',
      sender: p.sender,
      nonce: p.nonce,
      to: p.to,
      data: p.data,
      sequence: p.sequence,
      sequenceValue: p.sequenceValue,
      firstHash: p.firstHash,
      signings: p.signings,
      waiting: null,
      updatedAt: p.at,
    })
    .where('id', '=', p.id)
    .where('state', '=', 'queued'),
)
export const markSigned = (db: Queries, to: SignedIntent) => changed(signed.run(db, to))

const sent = statement<At>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ state: 'broadcast', waiting: null, updatedAt: p.at })
    .where('id', '=', p.id)
    .where('state', '=', 'signed'),
)
export const markBroadcast = (db: Queries, to: At) => changed(sent.run(db, to))

export type Mined = At & { minedHash: string; blockHash: string; blockNumber: number; succeeded: 0 | 1 }
const mined = statement<Mined>()((db, p) =>
  db
    .updateTable('transactions')
    .set({
      state: 'mined',
      minedHash: p.minedHash,
      blockHash: p.blockHash,
      blockNumber: p.blockNumber,
      succeeded: p.succeeded,
      waiting: null,
      updatedAt: p.at,
    })
    .where('id', '=', p.id)
    .where('settledAt', 'is', null),
)
export const markMined = (db: Queries, to: Mined) => changed(mined.run(db, to))

const unmined = statement<At>()((db, p) =>
  db
    .updateTable('transactions')
    .set({
      state: 'broadcast',
      minedHash: null,
      blockHash: null,
      blockNumber: null,
      succeeded: null,
      reason: null,
      settledAt: null,
      updatedAt: p.at,
    })
    .where('id', '=', p.id)
    .where('state', 'in', ['mined', 'confirmed']),
)
/** The chain took its block back. */
export const markUnmined = (db: Queries, to: At) => changed(unmined.run(db, to))

export type Settled = At & { state: 'confirmed' | 'reverted' | 'cancelled'; reason: string | null }
const settled = statement<Settled>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ state: p.state, reason: p.reason, waiting: null, settledAt: p.at, updatedAt: p.at })
    .where('id', '=', p.id)
    .where('settledAt', 'is', null),
)
export const markSettled = (db: Queries, to: Settled) => changed(settled.run(db, to))

const queuedAgain = statement<At>()((db, p) =>
  db
    .updateTable('transactions')
    .set({
      state: 'queued',
      sender: null,
      nonce: null,
      sequence: null,
      sequenceValue: null,
      minedHash: null,
      blockHash: null,
      blockNumber: null,
      succeeded: null,
      updatedAt: p.at,
    })
    .where('id', '=', p.id)
    .where('settledAt', 'is', null),
)
/** Only after proof that no attempt had or can have an effect. */
export const markQueuedAgain = (db: Queries, to: At) => changed(queuedAgain.run(db, to))

const waiting = statement<At & { waiting: TransactionRow['waiting'] }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ waiting: p.waiting, updatedAt: p.at })
    .where('id', '=', p.id)
    .where('settledAt', 'is', null),
)
export const markWaiting = (db: Queries, to: At & { waiting: TransactionRow['waiting'] }) =>
  changed(waiting.run(db, to))

type OfSigner = { chainId: number; signer: string }

const stuck = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .select('id')
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'signed', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', 'is', null)
    .limit(1),
)
/** Whether something is not mined, and does not say yet that it waits. */
export const hasUnexplained = async (db: Queries, of: OfSigner): Promise<boolean> =>
  (await stuck.first(db, of)) !== undefined

const withoutNode = statement<OfSigner & { at: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ waiting: 'node', updatedAt: p.at })
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'signed', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', 'is', null),
)
/** The node cannot be asked: all that is not mined waits for it, unless it waits for something else. */
export const markAllWithoutNode = (db: Queries, of: OfSigner & { at: string }) => withoutNode.run(db, of)

const withNode = statement<OfSigner & { at: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ waiting: null, updatedAt: p.at })
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', '=', 'node'),
)
/** The node answers again. What it has never taken waits until it has. */
export const markAllWithNode = (db: Queries, of: OfSigner & { at: string }) => withNode.run(db, of)

const dropped = statement<At & { reason: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ state: 'cancelled', reason: p.reason, waiting: null, settledAt: p.at, updatedAt: p.at })
    .where('id', '=', p.id)
    .where('state', '=', 'queued'),
)
/** Drops one that has no nonce yet. */
export const cancelQueued = (db: Queries, to: At & { reason: string }) => changed(dropped.run(db, to))

const abandoned = statement<At & { reason: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ abandonedBecause: p.reason, updatedAt: p.at })
    .where('id', '=', p.id)
    .where('state', 'in', ['signed', 'broadcast'])
    .where('abandonedBecause', 'is', null),
)
/** Asks for its nonce to be filled with an empty transaction. Whichever is mined decides. */
export const abandon = (db: Queries, to: At & { reason: string }) => changed(abandoned.run(db, to))
