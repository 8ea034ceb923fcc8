import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { TransactionRow } from '../schema/schema.ts'

// Each returns false if the state differs. Only the relayer may call them, under its lease, except cancelQueued.

type RowAt = { id: number; at: string }

const byId = (db: Queries, { id }: RowAt) => db.updateTable('transactions').where('id', '=', id)
const unsettled = (db: Queries, p: RowAt) => byId(db, p).where('settledAt', 'is', null)

export type SignedIntent = RowAt & {
  signer: string
  sender: string
  nonce: number
  to: string | null
  data: string
  sequence: string | null
  sequenceValue: string | null
  firstHash: string
  signings: number
  signedBlock: number
}
export const markSigned = statement<SignedIntent>()((db, p) =>
  byId(db, p)
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
      signedBlock: p.signedBlock,
      waiting: null,
      updatedAt: p.at,
    })
    .where('signer', '=', p.signer)
    .where('state', '=', 'queued'),
).runOnce

/** Signed attempts. */
export const markBroadcast = (db: Queries, { ids, at }: { ids: readonly number[]; at: string }) =>
  db
    .updateTable('transactions')
    .set({ state: 'broadcast', waiting: null, updatedAt: at })
    .where('id', 'in', ids)
    .where('state', '=', 'signed')
    .execute()

export type Mined = RowAt & { minedHash: string; blockHash: string; blockNumber: number; succeeded: 0 | 1 }
export const markMined = statement<Mined>()((db, p) =>
  unsettled(db, p).set({
    state: 'mined',
    minedHash: p.minedHash,
    blockHash: p.blockHash,
    blockNumber: p.blockNumber,
    succeeded: p.succeeded,
    waiting: null,
    updatedAt: p.at,
  }),
).runOnce

/** Mined with its effect, and final. */
export const markConfirmed = statement<
  RowAt & Pick<TransactionRow, 'minedHash' | 'blockHash' | 'blockNumber'>
>()((db, p) =>
  unsettled(db, p).set({
    state: 'confirmed',
    minedHash: p.minedHash,
    blockHash: p.blockHash,
    blockNumber: p.blockNumber,
    succeeded: 1,
    reason: null,
    waiting: null,
    settledAt: p.at,
    updatedAt: p.at,
  }),
).runOnce

/** After a chain reorganization. */
export const markUnmined = statement<RowAt>()((db, p) =>
  byId(db, p)
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

    .where('state', 'in', ['mined', 'confirmed']),
).runOnce

export type SettledRow = RowAt & { state: 'confirmed' | 'reverted' | 'cancelled'; reason: string | null }
export const markSettled = statement<SettledRow>()((db, p) =>
  unsettled(db, p).set({ state: p.state, reason: p.reason, waiting: null, settledAt: p.at, updatedAt: p.at }),
).runOnce

/** For a queued intent from a backup whose effect is on the chain by a transaction that the backup does not know. */
export const markDoneBefore = statement<
  RowAt & { hash: string; sender: string; nonce: number; blockHash: string; block: number; reason: string }
>()((db, p) =>
  byId(db, p)
    .set((e) => ({
      state: 'confirmed',
      firstHash: e.fn.coalesce('firstHash', e.val(p.hash)),
      minedHash: p.hash,
      sender: p.sender,
      nonce: p.nonce,
      blockHash: p.blockHash,
      blockNumber: p.block,
      succeeded: 1,
      reason: p.reason,
      waiting: null,
      settledAt: p.at,
      updatedAt: p.at,
    }))
    .where('state', '=', 'queued'),
).runOnce

/** Requires proof that no attempt has taken or can take effect. */
export const markQueuedAgain = statement<RowAt>()((db, p) =>
  unsettled(db, p).set({
    state: 'queued',
    sender: null,
    nonce: null,
    sequenceValue: null,
    minedHash: null,
    blockHash: null,
    blockNumber: null,
    succeeded: null,
    updatedAt: p.at,
  }),
).runOnce

const waits = statement<RowAt & Pick<TransactionRow, 'waiting' | 'waitingWords'>>()((db, p) =>
  unsettled(db, p).set({ waiting: p.waiting, waitingWords: p.waitingWords, updatedAt: p.at }),
)
/** @param words the node's own message, if it says more */
export const markWaiting = (
  db: Queries,
  { id, at, waiting, words = null }: RowAt & { waiting: TransactionRow['waiting']; words?: string | null },
): Promise<boolean> => waits.runOnce(db, { id, at, waiting, waitingWords: words })

type OfSigner = { chainId: number; signer: string }

/** True if an unmined transaction has no reason to wait. */
export const hasUnexplained = statement<OfSigner>()((db, p) =>
  db
    .selectFrom('transactions')
    .select('id')
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'signed', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', 'is', null)
    .limit(1),
).exists

/** Transactions that already wait for another reason keep it. */
export const markAllWithoutNode = statement<OfSigner & { at: string; words: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ waiting: 'node', waitingWords: p.words, updatedAt: p.at })
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'signed', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', 'is', null),
).run

/** `signed` transactions, which the node has not accepted, keep waiting. */
export const markAllWithNode = statement<OfSigner & { at: string }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ waiting: null, updatedAt: p.at })
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', 'in', ['queued', 'broadcast'])
    .where('settledAt', 'is', null)
    .where('waiting', '=', 'node'),
).run

export const cancelQueued = statement<RowAt & { reason: string }>()((db, p) =>
  byId(db, p)
    .set({ state: 'cancelled', reason: p.reason, waiting: null, settledAt: p.at, updatedAt: p.at })

    .where('state', '=', 'queued'),
).runOnce

/** Requests an empty transaction with the same nonce. Either transaction may be mined. */
export const abandon = statement<RowAt & { reason: string }>()((db, p) =>
  byId(db, p)
    .set({ abandonedBecause: p.reason, updatedAt: p.at })

    .where('state', 'in', ['signed', 'broadcast'])
    .where('abandonedBecause', 'is', null),
).runOnce

const setReported = statement<{ id: number; outcome: 'confirmed' | 'failed' }>()((db, p) =>
  db
    .updateTable('transactions')
    .set({ toldAs: p.outcome })
    .where('id', '=', p.id)
    .where((e) => e.or([e('toldAs', 'is', null), e('toldAs', '!=', p.outcome)])),
)
/** @returns false if webhooks already reported this result */
export const markReported = setReported.runOnce
