import type { Address } from 'viem'
import { type ChainClient, createChainClient } from './chain-client.ts'
import type { DevChain } from './dev-chain/dev-chain.ts'
import { devChainId } from './dev-chain/dev-keys.ts'
import { expiryBlocksOf } from './expiry-blocks.ts'
import { FeeMarket } from './fee-market.ts'
import type { ChainKeys } from './keys/chain-keys.ts'
import type { SigningKey } from './keys/signing-key.ts'
import { defaultMaxGas } from './relayer/sender.ts'
import { RpcEndpoints } from './rpc-transport.ts'

export interface Chain {
  readonly id: number
  readonly isEmbedded: boolean
  readonly client: ChainClient
  /**
   * For names, whose owners decide how long a look-up takes: over requests of its own, so that nothing else waits behind
   * them, and a look-up that never ends says nothing about the node.
   */
  readonly nameClient: ChainClient
  /** Only for a remote chain. */
  readonly endpoints: RpcEndpoints | undefined
  /** Pays for and sends transactions, and administers the contracts deployed from here. */
  readonly relayer: Address
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

/** More than idle time adds at once, and than a burst of thousands of transfers takes. */
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
    relayer: keys.relayer.address,
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
    relayer: keys.relayer.address,
    signVerifier: keys.signVerifier,
    maxFeePerGas,
    maxGas,
    market: new FeeMarket(client, { minTip, maxTip }),
    latestBlock: async () => Number(await client.getBlockNumber()),
    expiryBlocks: async () => expiryBlocks ?? measured(),
  }
}
