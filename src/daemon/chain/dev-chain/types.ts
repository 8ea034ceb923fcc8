import type { Logger } from 'pino'
import type { Address, Chain, Hex, Transport } from 'viem'
import type { devChainId } from './dev-keys.ts'
import type { Request } from './gateway.ts'
import type { RpcMode } from './rpc-guard.ts'

export interface DevChainSettings {
  dataDir: string
  log: Logger
  clock?: { now(): number; monotonic(): number }
  rpcMode: RpcMode
  /** Where the RPC is published if the port is free; absent or 0: anywhere. */
  rpcPort?: number
  /** Web pages that may use it; absent: none. */
  rpcOrigins?: readonly string[]
  /** anvil ends if this process is killed (on Linux). Else the next daemon saves its state and ends it. */
  endsWithDaemon?: boolean
  /** Its transactions that a kill took from the chain are sent again, and it has a million ether at each start. */
  relayer: Address
  /** The relayer's signed transactions with this nonce and later ones, in signing order and in small batches. */
  signedSince(nonce: number): AsyncIterable<readonly Hex[]> | Iterable<readonly Hex[]>
  /** Addresses by name. Existing names are not changed. */
  names: Readonly<Record<string, string>>
  /** The maximum number of blocks for idle time; more than any signature's blockExpiry. */
  maxCatchUp?: number
  /** A change is saved after this time. */
  saveAfterMs?: number
  binary?: string
}

export interface DevChain {
  readonly chainId: typeof devChainId
  readonly rpcUrl: string
  /**
   * anvil's own address, http://… or unix:/path, for this process only; it may change when the chain restarts.
   */
  readonly internalUrl: string
  readonly pid: number | undefined
  /** False while there is none, and after some seconds without answers. */
  readonly isAnswering: boolean
  /** Asks the chain, for two seconds at most. */
  answers(): Promise<boolean>
  /** For viem's clients, including the name service. */
  readonly chain: Chain
  /**
   * This process's transport: never another chain's, and with blocks made at once. Fails with ChainUnavailable.
   */
  readonly transport: Transport
  request(call: Request): Promise<unknown>
  /** @returns the number of the latest block */
  mine(count?: number): Promise<number>
  /** Adds blocks for idle time; called before the latest block decides about an expiry. */
  catchUp(): Promise<number>
  /** Saves a state now. */
  dump(): Promise<void>
  setNames(names: Readonly<Record<string, string>>): Promise<void>
  /** Called when the chain is restored after a crash: transactions may be in other blocks than before. @returns a function that removes the listener */
  onRestart(listener: () => void): () => void
  /** Saves the state, unless the chain hangs, and ends it. */
  stop(): Promise<void>
}
