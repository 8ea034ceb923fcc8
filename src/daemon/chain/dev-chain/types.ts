import type { Logger } from 'pino'
import type { Address, Chain, Hex, Transport } from 'viem'
import type { devChainId } from './dev-keys.ts'
import type { Request } from './gateway.ts'
import type { History } from './history.ts'
import type { RpcMode } from './rpc-guard.ts'

/** Which stored transactions the chain asks for when it starts. */
export interface Wanted {
  /**
   * When the state that it begins with was taken, in milliseconds; undefined: it begins with nothing. What was mined
   * before need not be given; what was not mined yet must be, however old.
   */
  since: number | undefined
}

/** anvil's memory grows with every transaction: above a bound another one takes over from its state. */
export interface Renewal {
  /** Bytes of memory; undefined: never. */
  above: number | undefined
  /** The part of the time that this may take, during which whoever asks the chain waits: 0 to 1. */
  share: number
  /** What the new one still knows of the past. */
  history: History
}

export interface DevChainSettings {
  /** The daemon's data directory, which it holds alone. */
  dataDir: string
  log: Logger
  clock?: { now(): number; monotonic(): number }
  rpcMode: RpcMode
  /** Signed transactions in the order in which they were signed. Those that the chain has do no harm. */
  rawTransactions(wanted: Wanted): AsyncIterable<Hex> | Iterable<Hex> | Promise<readonly Hex[]>
  /** Addresses by name. A name that is set already stays as it is. */
  names: Readonly<Record<string, string>>
  /** Who has a million ether whenever the chain starts, before anything is sent again. */
  fund?: readonly Address[]
  /** The most blocks that idle time brings; more than any signature's blockExpiry allows for. */
  mostCatchUp?: number
  /** When states are taken: after so many blocks with transactions, or so long after the last change. */
  keepEvery?: { blocks: number; idleMs: number }
  /** When the chain is started anew from its state. */
  renewal?: Renewal
  binary?: string
  /** Hears of writes to the disk that fail. */
  writeFailed?(error: unknown): void
}

export interface DevChain {
  readonly chainId: typeof devChainId
  /** The guarded RPC, for everyone on this machine. */
  readonly rpcUrl: string
  /** anvil's own, for this process alone, http://… or unix:/path; after a restart of the chain it may be another. */
  readonly internalUrl: string
  /** anvil's process; undefined while there is none. */
  readonly pid: number | undefined
  /** False while there is none, and once it has been silent for some seconds. */
  readonly isAnswering: boolean
  /** Asks it, for two seconds at most. */
  answers(): Promise<boolean>
  /** For viem's clients, names included. */
  readonly chain: Chain
  /** The way to the chain for this process: never another's, blocks at once. Fails with ChainUnavailable. */
  readonly transport: Transport
  request(call: Request): Promise<unknown>
  /** @returns the number of the latest block */
  mine(count?: number): Promise<number>
  /** Makes the blocks that idle time would have brought; asked before the latest block decides an expiry. */
  catchUp(): Promise<number>
  /** Takes a state now. */
  dump(): Promise<void>
  fund(...addresses: Address[]): Promise<void>
  setNames(names: Readonly<Record<string, string>>): Promise<void>
  /** Called when anvil dies by itself. @returns a function that ends that */
  onExit(listener: () => void): () => void
  /** Called when it runs again, restored: transactions may stand in other blocks than before. */
  onRestart(listener: () => void): () => void
  /** Keeps the state and ends the chain; of one that is silent the journal has what no state has. */
  stop(): Promise<void>
}
