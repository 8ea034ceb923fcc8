import type { Address, Hex } from 'viem'
import type { Queries } from '../../store/database.ts'
import { insertIdempotencyKey, insertTransaction } from '../../store/transactions.ts'
import { IdempotencyKeyTaken } from './errors.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** What an intent does: bytes that are known now, or a builder that makes them when it is signed. */
export type CallSpec = { to: Address | null; data: Hex } | { builder: string; args: Json }

export interface NewIntent {
  chainId: number
  /** Which of the chain's signers sends it. */
  signer: string
  call: CallSpec
  /** The gas limit, where it is known: without it the call has to go through when it is signed. */
  gasHint?: number
  /** What it is, in a word, for lists: `phygital-transfer`. */
  kind: string
  /** What it decides about: it is not signed anew once a later one about the same is recorded. */
  topic?: string
  /** For people: what it is about. Never a code or a key. */
  subject: Json
  /** null: the daemon's own. */
  teamId: number | null
  idempotency?: KeyedRequest | undefined
  /** Milliseconds since the epoch. */
  now: number
}

/** A request that may be repeated. */
export interface KeyedRequest {
  /** Within which the key is unique: a team, or a code. */
  scope: string
  key: string
  /** Of all that makes the request what it is. */
  requestHash: string
  /** Milliseconds, by the clock of `Idempotency`. */
  madeAt: number
  lifetimeMs: number
}

/**
 * Records what is to happen on a chain. Belongs in the write that takes what authorises it (an OTP, a signature):
 * either both are there afterwards or neither. From its commit on the relayer owes the effect, exactly once.
 * @returns the transaction's id, for `relayer.broadcasted` and `relayer.settled`
 * @throws IdempotencyKeyTaken, which undoes the write
 */
export async function recordIntent(trx: Queries, intent: NewIntent): Promise<number> {
  const { chainId, signer, call, kind, teamId } = intent
  const fixed = 'data' in call ? { to: call.to, data: call.data } : { to: null, data: null }
  const built = 'data' in call ? undefined : call
  const id = await insertTransaction(trx, {
    teamId,
    chainId,
    signer,
    kind,
    topic: intent.topic ?? null,
    subject: JSON.stringify(intent.subject),
    createdAt: new Date(intent.now).toISOString(),
    ...fixed,
    gas: intent.gasHint ?? null,
    builder: built?.builder ?? null,
    args: built ? JSON.stringify(built.args) : null,
  })
  if (intent.idempotency) await reserveIdempotencyKey(trx, intent.idempotency, id)
  return id
}

/**
 * Ties a repeatable request to its intent, in the same write. `recordIntent` does it by itself; this is for intents
 * that are no transaction of ours (a badge that an upstream mints), and for one request with several.
 * @throws IdempotencyKeyTaken, which undoes the write
 */
export async function reserveIdempotencyKey(
  trx: Queries,
  { scope, key, requestHash, madeAt, lifetimeMs }: KeyedRequest,
  transactionId: number | null,
): Promise<void> {
  const inserted = await insertIdempotencyKey(trx, {
    scope,
    key,
    requestHash,
    transactionId,
    createdAt: new Date(madeAt).toISOString(),
    expiresAt: new Date(madeAt + lifetimeMs).toISOString(),
  })
  if (!inserted) throw new IdempotencyKeyTaken()
}
