import type { Transport } from 'viem'
import type { Db, Queries } from '../../store/database/database.ts'
import { type Lease, LeaseLost } from '../../store/lease/lease.ts'
import type { SenderJam, TransactionAttemptRow, TransactionRow } from '../../store/schema/schema.ts'
import type { TransactionSigner } from '../keys/transaction-signer.ts'
import type { Builders } from './builder.ts'
import { LeaseHeld } from './errors.ts'
import type { FeeMarket, Market } from './fees.ts'
import type { Gas } from './gas.ts'
import type { Head, Node } from './node.ts'
import type { SendOutcome } from './send-outcome.ts'

/** In milliseconds. */
export interface Clock {
  now(): number
  /** For measuring, from an arbitrary start. */
  monotonic(): number
}

/** Gas of a transfer by code. Foreign contracts may need several times the 86,000 of ours. */
export const defaultMaxGas = 2_000_000

export interface ChainSettings {
  chainId: number
  transport: Transport
  /** The depth at which a transaction is settled; 1 is the latest block. */
  confirmations: number
  /** The maximum in wei per gas. While the chain's fees exceed it, intents wait and show that. */
  maxFeePerGas: bigint
  /** In wei per gas; offered also if the node suggests less. */
  minTip: bigint
  maxTip: bigint | undefined
  /** The most gas that a transfer by code may use. */
  maxGas: number
  /** The block producer's tip in wei per gas; absent: as suggested by the node. */
  tip?: bigint
  /** Shared with cost estimates; absent: a new one. */
  market?: FeeMarket | undefined
  /** A dev chain may come back with an earlier state: transactions that it forgot are sent again. */
  forgets?: boolean
  /** Overrides the default timing: an embedded chain is fast and accepts more at once. */
  timing?: Partial<RelayTiming>
  /** By name, such as `relayer`. */
  signers: Readonly<Record<string, TransactionSigner>>
}

/** Milliseconds between ticks. */
export interface DriverPace {
  /** While anything is pending. */
  busyMs: number
  /** While nothing is. */
  idleMs: number
  /** The maximum after failures. */
  maxBackoffMs: number
}

export interface RelayTiming extends DriverPace {
  /** Issued but unmined nonces. geth queues at most 64 transactions of an account that cannot run yet. */
  maxInFlight: number
  /** An accepted transaction is resent after this time, because nodes may forget it. */
  resendMs: number
  /** Delay before retrying a refused transaction, or one whose result is unknown. */
  retryMs: number
  /** After this time and another block, the lowest nonce gets higher fees. */
  replaceMs: number
  /** Signing attempts of an intent before its revert is final. */
  maxSignings: number
}

export type OnSettled = (
  trx: Queries,
  transaction: {
    id: number
    kind?: string
    state: 'confirmed' | 'reverted' | 'cancelled'
    at: string
    /** Members of a group that had no effect by it. */
    refused?: readonly number[]
  },
) => Promise<void>

/**
 * Explains why a successful transaction did not have its intended effect; undefined if it had, or no one can
 * tell.
 * @throws if the chain cannot be read: the next tick asks again
 */
export type WithoutEffect = (
  row: Pick<TransactionRow, 'chainId' | 'kind' | 'subject'>,
  blockNumber: bigint,
) => Promise<string | undefined>

export interface Sender {
  readonly chain: ChainSettings
  readonly name: string
  readonly signer: TransactionSigner
  readonly node: Node
  readonly market: FeeMarket
  readonly gas: Gas
  readonly db: Db
  readonly clock: Clock
  readonly builders: Builders
  readonly timing: RelayTiming
  readonly lease: Lease
  /** Other daemons on the database have this key as well, so one of them may have the lease. */
  readonly isShared: boolean
  /** Called when the key jams, or no longer does. */
  jamChanged(): void
  /** Notifies those who wait for these transactions, after the commit. */
  changed(ids: Iterable<number>): Promise<void>
  readonly memory: Memory
  readonly onSettled: OnSettled
  readonly withoutEffect: WithoutEffect
}

/** The state of one key on one chain, for `/readyz`, metrics, and lists. */
export interface SenderStatus {
  chainId: number
  signer: string
  address: string
  unsettled: number
  /** The number of issued but unmined nonces. */
  inFlight: number
  /** The chain's fees exceed the cap: nothing is lost, but nothing moves. */
  waitingForFees: boolean
  waitingForFunds: boolean
  /** Why nothing is mined for this key. Other keys of the chain then take over what it has not signed. */
  jam: SenderJam | null
  /** In wei, as last read; undefined: not read yet, or gas is free. */
  balance: bigint | undefined
  /** The first transaction that has been stuck for a while, and the reason in the node's own words. */
  stuck: { id: number; why: string } | undefined
  /** Another daemon on the same database sends for this key. */
  isStandby: boolean
  trouble: Error | undefined
}

/** State that may be lost: that costs a repetition, never an effect. */
interface Memory {
  /** By attempt: when it was first and last sent by this process (monotonic), and the outcome. */
  readonly sent: Map<number, { firstAt: number; at: number; outcome: SendOutcome; words: string | null }>
  /** By transaction: when it is tried again (monotonic); earlier if this number of used nonces is exceeded. */
  readonly retryAt: Map<number, { at: number; used: number; tries: number }>
  /** By transaction: the latest block when its nonce was used but no attempt was found, for the first time. */
  readonly absent: Map<number, number>
  /** The lowest unmined attempt, and the block since when it has been that. */
  lowest: { attemptId: number; block: number } | undefined
  /** The lowest unmined transaction, and since when it has been that. */
  first: { id: number; at: number; block: number } | undefined
  /** The first waiting transaction, and since when it waits. */
  waits: { id: number; at: number } | undefined
  /** As written to the database; undefined: unknown, since an earlier process wrote it. */
  jam: SenderJam | null | undefined
  /** When it was jammed last (monotonic). */
  jammedAt: number | undefined
  /** Signers with unsettled transactions that are not configured here, and when they were looked for. */
  strangers: { at: number; names: readonly string[] } | undefined
  /** The node accepts no nonce above the account's. */
  isStrict: boolean
  /** The node accepts only legacy transactions. */
  isLegacy: boolean
}

export const newMemory = (): Memory => ({
  sent: new Map(),
  retryAt: new Map(),
  absent: new Map(),
  lowest: undefined,
  first: undefined,
  waits: undefined,
  jam: undefined,
  jammedAt: undefined,
  strangers: undefined,
  isStrict: false,
  isLegacy: false,
})

export interface View {
  head: Head
  /** The number of nonces used up at the latest block, which is also the lowest unmined nonce. */
  used: number
  /** The next nonce to issue. */
  next: number
  /** Unsettled transactions with a nonce, in nonce order. */
  rows: readonly TransactionRow[]
  attempts: ReadonlyMap<number, readonly TransactionAttemptRow[]>
}

/** Limits calls that are expensive for the node and whose answer will hardly change within a moment. */
export function isTooEarly({ memory, clock }: Sender, { used }: View, { id }: { id: number }): boolean {
  const retry = memory.retryAt.get(id)
  return retry !== undefined && retry.used === used && clock.monotonic() < retry.at
}

/** @returns how often it has been tried; early ones do not count */
export function retryLater(
  { memory, clock, timing }: Sender,
  { used }: View,
  { id }: { id: number },
): number {
  const now = clock.monotonic()
  const before = memory.retryAt.get(id)
  const isEarly = before !== undefined && now < before.at
  const { at, tries } = isEarly ? before : { at: now + timing.retryMs, tries: (before?.tries ?? 0) + 1 }
  memory.retryAt.set(id, { at, used, tries })
  return tries
}

export const idOf = ({ chain, signer }: Sender) => ({ chainId: chain.chainId, address: signer.address })
export const ofSigner = ({ chain, name }: Sender) => ({ chainId: chain.chainId, signer: name })
export const isoNow = ({ clock }: Sender): string => new Date(clock.now()).toISOString()

/** Writes only while this process holds the lease. @throws LeaseHeld */
export async function writeAsHolder<T>(
  sender: Sender,
  job: (trx: Queries, at: string) => Promise<T>,
): Promise<T> {
  const at = isoNow(sender)
  try {
    return await sender.lease.write((trx) => job(trx, at))
  } catch (error) {
    if (error instanceof LeaseLost) throw new LeaseHeld(sender.chain.chainId, sender.signer.address)
    throw error
  }
}

export const marketOf = ({ chain, market }: Sender, head: Head): Promise<Market> =>
  market.at(head, chain.maxFeePerGas)
