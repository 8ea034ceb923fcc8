import type { Address, Hex, TransactionSerializableEIP1559, Transport } from 'viem'
import type { Db, Queries } from '../../store/database.ts'
import type { TransactionAttemptRow, TransactionRow } from '../../store/schema.ts'
import { renewLease } from '../../store/transactions.ts'
import type { Builders } from './builder.ts'
import { LeaseHeld } from './errors.ts'
import type { Market } from './fees.ts'
import type { Head, Node, SendOutcome } from './node.ts'

/** Milliseconds. */
export interface Clock {
  /** Since the epoch. */
  now(): number
  /** Since some moment: whatever is measured. */
  monotonic(): number
}

/** A key that sends. chain/keys makes them; nothing here sees the secret. */
export interface TransactionSigner {
  readonly address: Address
  signTransaction(transaction: TransactionSerializableEIP1559): Promise<Hex>
}

export interface ChainSettings {
  chainId: number
  /** See `rpcTransport`. */
  transport: Transport
  /** How deep a transaction must lie to be settled; 1: in the latest block. */
  confirmations: number
  /** Wei per gas. No attempt offers more; while the chain asks for more, intents wait and say so. */
  maxFeePerGas: bigint
  /** Wei per gas for the block's producer; without it the node is asked. */
  tip?: bigint
  /** A dev chain that can come back with an earlier state: what it forgot is sent again. */
  forgets?: boolean
  /** Where this chain's differs from the usual: an embedded chain is quick, and takes more at once. */
  pace?: Partial<Pace>
  /** By name: `relayer`. */
  signers: Readonly<Record<string, TransactionSigner>>
}

/** Milliseconds between ticks. */
export interface DriverPace {
  /** While something is under way. */
  busyMs: number
  /** While nothing is: it renews the lease. */
  idleMs: number
  /** The longest where they fail. */
  maxBackoffMs: number
}

export interface Pace extends DriverPace {
  /** Nonces that are taken and not mined. Nodes keep 64 of one account that they cannot execute yet (geth). */
  maxInFlight: number
  /** After this long what a node has taken is sent again, since it can forget. */
  resendMs: number
  /** After this long, and another block, the lowest nonce gets higher fees. */
  replaceMs: number
  /** How long a lease lasts that is not renewed. */
  leaseMs: number
  /** How often an intent is signed anew before its revert is final. */
  maxSignings: number
}

/** What else belongs in the write that settles a transaction. */
export type Settled = (
  trx: Queries,
  transaction: { id: number; state: 'confirmed' | 'reverted' | 'cancelled'; at: string },
) => Promise<void>

/**
 * Says why what was mined without failing had nothing of the effect that was meant; undefined: it had, or nobody can
 * tell. @throws where the chain could not be asked: the next tick asks again
 */
export type WithoutEffect = (
  row: Pick<TransactionRow, 'chainId' | 'kind' | 'subject'>,
  blockNumber: bigint,
) => Promise<string | undefined>

/** One key on one chain: all that the steps of a tick need. */
export interface Sender {
  readonly chain: ChainSettings
  readonly name: string
  readonly signer: TransactionSigner
  readonly node: Node
  readonly db: Db
  readonly clock: Clock
  readonly builders: Builders
  readonly pace: Pace
  /** This process, for the lease. */
  readonly holder: string
  /** Tells those who wait for these transactions, after the write was committed. */
  changed(ids: Iterable<number>): Promise<void>
  readonly memory: Memory
  readonly onSettled: Settled
  readonly withoutEffect: WithoutEffect
}

/** How one key on one chain is doing, for `/readyz`, metrics and lists. */
export interface SenderStatus {
  chainId: number
  signer: string
  address: string
  /** Intents that are not settled. */
  unsettled: number
  /** Nonces that are taken and not mined. */
  inFlight: number
  /** The chain asks for more than the cap: nothing is lost, and nothing moves. */
  waitingForFees: boolean
  /** The key has nothing to pay with. */
  waitingForFunds: boolean
  /** What the last tick ran into; undefined where all went well. */
  trouble: Error | undefined
}

/** What may be forgotten: losing it costs a repetition, never an effect. */
export interface Memory {
  /** By attempt: when it was first and last sent from here (monotonic), and what that said. */
  readonly sent: Map<number, { firstAt: number; at: number; outcome: SendOutcome }>
  /** By transaction: the latest block when its nonce was used and no attempt was to be found, for the first time. */
  readonly absent: Map<number, number>
  /** The lowest attempt that is not mined, and the block when it became that. */
  lowest: { attemptId: number; block: number } | undefined
}

/** What a tick works on. */
export interface View {
  head: Head
  /** How many nonces the latest block has used up: the lowest that is not mined. */
  used: number
  /** The lowest that was never given out. */
  next: number
  /** What has a nonce and is not settled, in order of nonce. */
  rows: readonly TransactionRow[]
  attempts: ReadonlyMap<number, readonly TransactionAttemptRow[]>
}

export const idOf = ({ chain, signer }: Sender) => ({ chainId: chain.chainId, address: signer.address })
export const ofSigner = ({ chain, name }: Sender) => ({ chainId: chain.chainId, signer: name })
export const isoNow = ({ clock }: Sender): string => new Date(clock.now()).toISOString()

/**
 * A write of the relayer: what it does is done only while this process holds the lease.
 * @throws LeaseHeld
 */
export async function writeAsHolder<T>(
  sender: Sender,
  job: (trx: Queries, at: string) => Promise<T>,
): Promise<T> {
  const now = sender.clock.now()
  const until = new Date(now + sender.pace.leaseMs).toISOString()
  return sender.db.write(async (trx) => {
    if (!(await renewLease(trx, { ...idOf(sender), holder: sender.holder, until })))
      throw new LeaseHeld(sender.chain.chainId, sender.signer.address)
    return job(trx, new Date(now).toISOString())
  })
}

export async function marketOf({ chain, node }: Sender, head: Head): Promise<Market> {
  return { baseFee: head.baseFee, tip: chain.tip ?? (await node.tip()), cap: chain.maxFeePerGas }
}
