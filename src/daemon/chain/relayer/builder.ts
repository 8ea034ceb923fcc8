import type { Address, Hex, PublicClient } from 'viem'
import type { Rerun } from './node.ts'

/** What a transaction does. `to` null creates a contract. */
export interface Call {
  to: Address | null
  data: Hex
  /** The gas limit. Needed where the call would revert until those before it are mined; else it is estimated. */
  gas?: number
}

/** What a builder may ask while it builds. */
export interface BuildContext {
  chainId: number
  /** Who sends it. */
  from: Address
  /** How often this intent was signed before, without an effect. */
  signings: number
  /** The latest block. */
  blockNumber: number
  client: PublicClient
  /**
   * The value that a counter on the chain will have when this transaction runs, if those before it do what they
   * should: `onChain`, moved on by what is under way with the same name and value. A builder asks for one at most.
   */
  next(counter: string, onChain: () => Promise<bigint>): Promise<bigint>
}

/** A transaction that was mined without an effect, as deep as was asked for. */
export interface Reverted {
  to: Address | null
  data: Hex
  /** What `next` gave it. */
  counted: bigint | undefined
  blockNumber: number
  rerun: Rerun
  /** How often it was signed. */
  signings: number
  client: PublicClient
}

/** A call that was signed and may have been copied. */
export interface DoneQuestion {
  to: Address | null
  data: Hex
  /** The last block in which that may have been. */
  untilBlock: number
  client: PublicClient
}

/** Makes a call out of an intent when it is signed, not when it is recorded: what it is made from moves. */
export interface Builder {
  /** @throws CannotBuild where it can never be built */
  build(args: unknown, ctx: BuildContext): Promise<Call>
  /** Without it a revert is final. */
  afterRevert?(args: unknown, reverted: Reverted): Promise<'sign anew' | 'give up'>
  /** Where anyone can bring about the effect by sending the same call: the transaction that did. */
  doneBy?(call: DoneQuestion): Promise<Hex | undefined>
}

export type Builders = Readonly<Record<string, Builder>>

export interface Counted {
  counter: string
  value: bigint
}

/**
 * Predicts a counter by running through what is under way in the order in which it will be mined. One that was
 * signed for another value reverts and moves nothing, so a gap closes by itself instead of growing.
 * @param underWay in order of nonce, without those that are known to have failed
 */
export function predict(onChain: bigint, counter: string, underWay: readonly Counted[]): bigint {
  let next = onChain
  for (const { counter: name, value } of underWay) if (name === counter && value === next) next += 1n
  return next
}
