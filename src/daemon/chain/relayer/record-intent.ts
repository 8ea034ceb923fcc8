import type { Address, Hex } from 'viem'
import { noteTransaction } from '../../store/audit/effects.ts'
import { insertIdempotencyKey } from '../../store/chain/idempotency-keys.ts'
import { insertTransaction } from '../../store/chain/intents.ts'
import { candidatesText, signerUnderWay } from '../../store/chain/signer-queues.ts'
import type { Queries } from '../../store/database/database.ts'
import { relayerName } from '../keys/transaction-signer.ts'
import { IdempotencyKeyTaken } from './errors.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** Known bytes, or a builder that makes them at signing time. */
export type CallSpec = { to: Address | null; data: Hex } | { builder: string; args: Json }

export interface NewIntent {
  chainId: number
  /**
   * Names of the signers that may send it, as ordered by `relayer.shortestFirst`; absent: the first relayer alone. Until it
   * is signed, another one may take it over.
   */
  candidates?: readonly string[] | undefined
  /** Name of the contract counter that its builder advances: see Builder. */
  counter?: string | undefined
  call: CallSpec
  /** The gas limit, if known: without it, the call must succeed in a trial run at signing time. */
  gasHint?: number
  /** A short name for lists: `phygital-transfer`. */
  kind: string
  /** What the intent changes: it is not signed again once a later intent has the same topic. */
  topic?: string
  /** A description for people, without codes or keys. */
  subject: Json
  teamId: number | null
  idempotency?: KeyedRequest | undefined
  /** Milliseconds since the epoch. */
  now: number
}

export interface KeyedRequest {
  /** The key is unique within a team or a code. */
  scope: string
  key: string
  /** A hash of everything that identifies the request. */
  requestHash: string
  /** Milliseconds, by the clock of `Idempotency`. */
  madeAt: number
  lifetimeMs: number
}

/**
 * Records an intended transaction. Call it in the write that consumes the authorization (an OTP, a signature),
 * so that both happen or neither does. From the commit on, the relayer must bring about the effect exactly
 * once.
 * @returns the transaction's id, for `relayer.broadcasted` and `relayer.settled`
 * @throws IdempotencyKeyTaken, which rolls the write back
 */
export async function recordIntent(trx: Queries, intent: NewIntent): Promise<number> {
  const { chainId, call, kind, teamId, topic = null, counter: sequence = null } = intent
  const { candidates = [relayerName(0)] } = intent
  const fixed = 'data' in call ? { to: call.to, data: call.data } : { to: null, data: null }
  const built = 'data' in call ? undefined : call
  const id = await insertTransaction(trx, {
    teamId,
    chainId,
    signer: await signerOf(trx, candidates, { chainId, topic, sequence }),
    candidates: candidates.length < 2 ? null : candidatesText(candidates),
    kind,
    topic,
    subject: JSON.stringify(intent.subject),
    createdAt: new Date(intent.now).toISOString(),
    ...fixed,
    gas: intent.gasHint ?? null,
    builder: built?.builder ?? null,
    args: built ? JSON.stringify(built.args) : null,
    sequence,
  })
  noteTransaction(trx, id)
  if (intent.idempotency) await reserveIdempotencyKey(trx, intent.idempotency, id)
  return id
}

/**
 * Intents with the same topic, or for the same counter, go through one nonce queue, in order. Otherwise each would have
 * to wait until the one before is settled: see `queuedTransactions`.
 */
async function signerOf(
  trx: Queries,
  candidates: readonly string[],
  of: { chainId: number; topic: string | null; sequence: string | null },
): Promise<string> {
  const [first] = candidates
  if (first === undefined) throw new Error('No signer may send the intent')
  const bound = candidates.length < 2 ? undefined : await signerUnderWay(trx, of)
  return bound !== undefined && candidates.includes(bound) ? bound : first
}

/**
 * Ties a repeatable request to its intent, in the same write. `recordIntent` does this itself; call it for
 * intents that are not our transactions (a badge minted upstream), and for one request with several intents.
 * @param answer in JSON, if this write already decides it
 * @throws IdempotencyKeyTaken, which rolls the write back
 */
export async function reserveIdempotencyKey(
  trx: Queries,
  { scope, key, requestHash, madeAt, lifetimeMs }: KeyedRequest,
  transactionId: number | null,
  answer: string | null = null,
): Promise<void> {
  const inserted = await insertIdempotencyKey(trx, {
    scope,
    key,
    requestHash,
    transactionId,
    answer,
    createdAt: new Date(madeAt).toISOString(),
    expiresAt: new Date(madeAt + lifetimeMs).toISOString(),
  })
  if (!inserted) throw new IdempotencyKeyTaken()
}
