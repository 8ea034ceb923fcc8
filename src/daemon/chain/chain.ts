import type { Address } from 'viem'
import { type ChainClient, createChainClient } from './chain-client.ts'
import type { DevChain } from './dev-chain/dev-chain.ts'
import { devChainId } from './dev-chain/dev-keys.ts'
import type { ChainKeys } from './keys/chain-keys.ts'
import type { SigningKey } from './keys/signing-key.ts'
import { type RemoteHealth, relayerName } from './keys/transaction-signer.ts'
import { FeeMarket } from './relayer/fees.ts'
import { defaultMaxGas } from './relayer/sender.ts'
import { RpcEndpoints } from './rpc-transport.ts'

interface ChainRelayer {
  readonly name: string
  readonly address: Address
  /** Undefined for a key on this machine. */
  readonly remote: RemoteHealth | undefined
}

export interface Chain {
  readonly id: number
  readonly isEmbedded: boolean
  readonly client: ChainClient
  /**
   * For ENS look-ups. Owners of names decide how long these take, so they use separate requests: nothing else waits
   * behind them, and a look-up that never ends does not count against the node.
   */
  readonly nameClient: ChainClient
  /** Only for a remote chain. */
  readonly endpoints: RpcEndpoints | undefined
  /** Pays for and sends transactions, and administers the contracts deployed from here. */
  readonly relayer: Address
  /** All that send, this first one included, by their names in `transactions.signer`. */
  readonly relayers: readonly ChainRelayer[]
  readonly signVerifier: SigningKey
  readonly maxFeePerGas: bigint | undefined
  /** The most gas that a transfer by code may use. */
  readonly maxGas: number
  readonly market: FeeMarket
  /**
   * The latest block's number; on the embedded chain, after adding the blocks that idle time would have
   * brought.
   */
  latestBlock(): Promise<number>
  expiryBlocks(): Promise<number>
}

export interface RemoteChain {
  readonly chainId: number
  readonly rpcUrls: readonly string[]
  /** The depth at which a transaction counts as final. */
  readonly confirmations: number
  /** In wei per gas; no transaction offers more. */
  readonly maxFeePerGas: bigint
  /** In wei per gas; also if the node suggests less. */
  readonly minTip: bigint
  readonly maxTip: bigint | undefined
  /** The most gas that a transfer by code may use. */
  readonly maxGas: number
  /** The lifetime of a transfer signature; undefined: about 30 minutes' worth of blocks. */
  readonly expiryBlocks: number | undefined
}

/**
 * Larger than the number of blocks that idle time adds at once, or that a burst of thousands of transfers
 * takes.
 */
const embeddedExpiry = 1000
/** In wei per gas. */
export const embeddedTip = 1_000_000_000n

/**
 * Untrusted contracts are called, and they must not name a URL for the daemon to call (ERC-3668). Only name
 * look-ups use gateways, through the guarded client.
 */
const closed = { cacheTime: 0, ccipRead: false } as const

export function embeddedAccess(chain: DevChain, keys: ChainKeys): Chain {
  const client = createChainClient({ ...closed, chain: chain.chain, transport: chain.transport })
  return {
    id: devChainId,
    isEmbedded: true,
    client,
    nameClient: client,
    endpoints: undefined,
    relayer: keys.relayers[0].address,
    relayers: relayersOf(keys),
    signVerifier: keys.signVerifier,
    maxFeePerGas: undefined,
    maxGas: defaultMaxGas,
    market: new FeeMarket(client, { tip: embeddedTip }),
    latestBlock: async () => {
      await chain.catchUp()
      return Number(await client.getBlockNumber())
    },
    expiryBlocks: async () => embeddedExpiry,
  }
}

const relayersOf = ({ relayers }: ChainKeys): ChainRelayer[] =>
  relayers.map(({ address, remote }, at) => ({ name: relayerName(at), address, remote }))

const lifetimeSeconds = 1800
const sample = 100n
// A signature that expires within a block or two could never be mined.
const minBlocks = 50
const measuredForMs = 3_600_000

/**
 * Returns the number of blocks in half an hour, measured over the latest hundred blocks and cached for an hour.
 * A chain that is too young is assumed to make a block every twelve seconds.
 */
function expiryBlocksOf(client: ChainClient): () => Promise<number> {
  let known: Promise<number> | undefined
  let at = 0
  const measure = async (): Promise<number> => {
    const latest = await client.getBlock({ blockTag: 'latest' })
    if (latest.number <= sample) return lifetimeSeconds / 12
    const earlier = await client.getBlock({ blockNumber: latest.number - sample })
    const seconds = Number(latest.timestamp - earlier.timestamp) / Number(sample)
    return Math.max(minBlocks, Math.ceil(lifetimeSeconds / Math.max(seconds, 0.1)))
  }
  return () => {
    if (known && performance.now() - at < measuredForMs) return known
    at = performance.now()
    known = measure().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

export function remoteAccess(
  { chainId, rpcUrls, maxFeePerGas, minTip, maxTip, maxGas, expiryBlocks }: RemoteChain,
  endpoints: RpcEndpoints,
  keys: ChainKeys,
): Chain {
  const client = createChainClient({ ...closed, transport: endpoints.transport })
  const measured = expiryBlocksOf(client)
  return {
    id: chainId,
    isEmbedded: false,
    client,
    nameClient: createChainClient({ ...closed, transport: new RpcEndpoints(rpcUrls, { chainId }).transport }),
    endpoints,
    relayer: keys.relayers[0].address,
    relayers: relayersOf(keys),
    signVerifier: keys.signVerifier,
    maxFeePerGas,
    maxGas,
    market: new FeeMarket(client, { minTip, maxTip }),
    latestBlock: async () => Number(await client.getBlockNumber()),
    expiryBlocks: async () => expiryBlocks ?? measured(),
  }
}
