import type { Address, Hex } from 'viem'
import type { ChainClient } from '../chain-client.ts'
import type { AtBlock } from '../contract-state.ts'
import type { Rerun } from './node.ts'

/** `to` null creates a contract. */
export interface Call {
  to: Address | null
  data: Hex
  /** The gas limit. Needed if the call would revert until earlier ones are mined; otherwise it is estimated. */
  gas?: number
}

export interface BuildContext {
  chainId: number
  from: Address
  /** Earlier signings of this intent that had no effect. */
  signings: number
  blockNumber: number
  /** The block to read at, so that a lagging node does not answer for an earlier one. */
  at: AtBlock
  client: ChainClient
  /** The builder's counter as predicted for when this transaction runs, if earlier ones succeed; 0 without one. */
  count: bigint
}

/** A number on the chain that each successful call advances by one. */
export interface Counter {
  name: string
  read(client: ChainClient, at: AtBlock): Promise<bigint>
}

/** A final transaction that was mined without taking effect. */
export interface RevertedTransaction {
  to: Address | null
  data: Hex
  counted: bigint | undefined
  blockNumber: number
  rerun: Rerun
  signings: number
  client: ChainClient
}

interface DoneQuestion {
  to: Address | null
  data: Hex
  /** The counter's value that it was signed for. */
  counted: bigint | undefined
  /** The first and the last block that may contain the copy. */
  signedBlock: number | null
  untilBlock: number
  client: ChainClient
}

export interface SinceQuestion {
  fromBlock: bigint
  untilBlock: bigint
  /** Transactions that are known to be other intents'. */
  others: ReadonlySet<string>
  client: ChainClient
}

/** `done`: the effect is there. `overtaken`: something later has replaced it. */
export interface LaterMove {
  kind: 'done' | 'overtaken'
  hash: Hex
  block: number
}

/** Builds an intent's call when it is signed, not when it is recorded, because its inputs change. */
export interface Builder {
  /**
   * Nothing in a second transaction prevents a second effect. So those with one topic are sent one after another, and
   * once signed, an intent is looked for by `since` before it is signed again.
   */
  readonly isJudgedByState?: boolean
  /** Separate from `build`, so that the counters of many intents are read together. @throws CannotBuild */
  counter?(args: unknown): Counter
  /** @throws CannotBuild if it can never be built */
  build(args: unknown, ctx: BuildContext): Promise<Call>
  /** True if foreign code decides how much gas the call takes. Absent: none does. */
  isUpToReceiver?(args: unknown, client: ChainClient): Promise<boolean>
  /** Absent: a revert is final. */
  afterRevert?(args: unknown, reverted: RevertedTransaction): Promise<'resign' | 'give up'>
  /** For effects that anyone can cause by sending the same call. @returns the transaction that did */
  doneBy?(call: DoneQuestion): Promise<Hex | undefined>
  /**
   * For an intent from a backup, which may have been sent since. Absent: its call has no effect a second time.
   * @returns undefined if nothing has happened since
   */
  since?(args: unknown, question: SinceQuestion): Promise<LaterMove | undefined>
  /** Why a transaction that succeeded has not had its effect; undefined if it has. Absent: success implies it. */
  withoutEffect?(args: unknown, mined: Mined): Promise<string | undefined>
  /** Of a group that succeeded: the positions of members that had no effect. Absent: all had theirs. @param args theirs */
  refusedOf?(args: readonly unknown[], mined: Mined): Promise<readonly number[]>
}

interface Mined {
  hash: Hex
  blockHash: Hex
  at: AtBlock
  client: ChainClient
}

export type Builders = Readonly<Record<string, Builder>>

export interface CounterValue {
  counter: string
  value: bigint
}

/**
 * Predicts a counter by applying pending transactions in the order in which they will be mined. One signed for
 * another value reverts without advancing the counter, so a gap closes by itself.
 * @param pending in nonce order, without those known to have failed
 */
export function predict(onChain: bigint, counter: string, pending: readonly CounterValue[]): bigint {
  let next = onChain
  for (const { counter: name, value } of pending) if (name === counter && value === next) next += 1n
  return next
}
