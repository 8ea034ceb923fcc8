import type { Logger } from 'pino'
import type { Address, Chain, Hex, Transport } from 'viem'
import type { devChainId } from './dev-keys.ts'
import type { Request } from './gateway.ts'
import type { History } from './history.ts'
import type { RpcMode } from './rpc-guard.ts'

export interface Wanted {
  /**
   * When the initial state was saved, in milliseconds; undefined: there is none. Transactions mined before may
   * be omitted; unmined ones must be included, however old.
   */
  since: number | undefined
}

/** anvil's memory grows with every transaction: above a limit, a new one takes over from its state. */
export interface Renewal {
  /** Bytes of memory; undefined: never. */
  above: number | undefined
  /** The share of time (0 to 1) that renewals may take, during which callers wait. */
  share: number
  /** The past that the new one still knows. */
  history: History
}

export interface DevChainSettings {
  dataDir: string
  log: Logger
  clock?: { now(): number; monotonic(): number }
  rpcMode: RpcMode
  /** Where the RPC is published if the port is free; absent or 0: anywhere. */
  rpcPort?: number
  /** Web pages that may use it; absent: none. */
  rpcOrigins?: readonly string[]
  /** anvil ends if this process is killed (on Linux). Else the next daemon ends it, and keeps what it knows. */
  endsWithDaemon?: boolean
  /** Signed transactions in signing order. Those that the chain has already are harmless. */
  rawTransactions(wanted: Wanted): AsyncIterable<Hex> | Iterable<Hex> | Promise<readonly Hex[]>
  /** Addresses by name. Existing names are not changed. */
  names: Readonly<Record<string, string>>
  /** These get a million ether whenever the chain starts, before anything is replayed. */
  fund?: readonly Address[]
  /** The maximum number of blocks for idle time; more than any signature's blockExpiry. */
  mostCatchUp?: number
  /** Saves a state after this many blocks with transactions, or this long after the last change. */
  keepEvery?: { blocks: number; idleMs: number }
  renewal?: Renewal
  binary?: string
  writeFailed?(error: unknown): void
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
  fund(...addresses: Address[]): Promise<void>
  setNames(names: Readonly<Record<string, string>>): Promise<void>
  /** Called when anvil dies. @returns a function that removes the listener */
  onExit(listener: () => void): () => void
  /** Called when the chain is restored after a crash: transactions may be in other blocks than before. */
  onRestart(listener: () => void): () => void
  /** Saves the state and ends the chain; if it hangs, the journal has the rest. */
  stop(): Promise<void>
}
