import type { Logger } from 'pino'
import { rawAttemptsSince } from '../store/chain/intents.ts'
import { type Db, isShared } from '../store/database/database.ts'
import { type Chain, embeddedAccess, embeddedTip, type RemoteChain, remoteAccess } from './chain.ts'
import { acquireChain } from './dev-chain/alone.ts'
import { type DevChain, type DevChainSettings, startDevChain } from './dev-chain/dev-chain.ts'
import { devChainId } from './dev-chain/dev-keys.ts'
import { type KeySources, loadChainKeys, signersOf } from './keys/chain-keys.ts'
import { contractMove, moveBuilder } from './relayer/contract-move.ts'
import { claimBuilder, phygitalClaim } from './relayer/phygital-claim.ts'
import { openRelayer, type Relayer } from './relayer/relayer.ts'
import {
  type ChainSettings,
  type Clock,
  defaultMaxGas,
  type OnSettled,
  type SenderStatus,
  type WithoutEffect,
} from './relayer/sender.ts'
import { ChainUnavailable } from './rpc-connection.ts'
import { RpcEndpoints } from './rpc-transport.ts'

export type { Chain, RemoteChain }

interface ChainsOptions {
  db: Db
  clock: Clock
  log: Logger
  dataDir: string
  devChain:
    | Pick<DevChainSettings, 'rpcMode' | 'rpcPort' | 'rpcOrigins' | 'endsWithDaemon' | 'names'>
    | undefined
  remote: readonly RemoteChain[]
  keys: KeySources
  onSettled: OnSettled
  withoutEffect: (chain: Chain, ...of: Parameters<WithoutEffect>) => ReturnType<WithoutEffect>
  /** See RelayerOptions. */
  broadcastTimeoutMs?: number | undefined
}

export class ChainNotConfigured extends Error {
  override readonly name = 'ChainNotConfigured'
  constructor(readonly chainId: number) {
    super(
      chainId === devChainId
        ? `Chain ${chainId} is the embedded chain, which is turned off here. Start the daemon with TAPCHIP_DEV_CHAIN=on (devChain of the configuration file), or set TAPCHIP_RPC_${chainId}.`
        : `Chain ${chainId} is not configured here. Set TAPCHIP_RPC_${chainId} and its keys (docs/chains.md), and start the daemon again.`,
    )
  }
}

export interface Chains {
  readonly all: readonly Chain[]
  readonly relayer: Relayer
  readonly embedded: DevChain | undefined
  readonly rpcUrls: Readonly<Record<string, string>>
  /** @throws ChainNotConfigured */
  get(chainId: number): Chain
  has(chainId: number): boolean
  close(): Promise<void>
}

// The embedded chain mines immediately, and may restart with an earlier state.
const embeddedTiming = { maxInFlight: 512, busyMs: 4, replaceMs: 600_000 }
const gwei = 1_000_000_000n

/** Opens every chain and the relayer. @throws KeyProblem, WrongChain, EmbeddedElsewhere */
export async function openChains(options: ChainsOptions): Promise<Chains> {
  const { db, clock, log, remote, onSettled } = options
  // A remote chain with the embedded chain's id replaces it.
  const isEmbedded = options.devChain !== undefined && remote.every(({ chainId }) => chainId !== devChainId)
  const ids = [...(isEmbedded ? [devChainId] : []), ...remote.map(({ chainId }) => chainId)]
  const keys = await loadChainKeys(ids, options.keys)
  const keysOf = (chainId: number) => {
    const found = keys.get(chainId)
    if (!found) throw new ChainNotConfigured(chainId)
    return found
  }
  let starting: Promise<DevChain> | undefined
  const lost = () => void starting?.then((chain) => chain.stop())
  const release = isEmbedded && isShared(db) ? await acquireChain({ ...options, onLost: lost }) : undefined
  if (isEmbedded && options.devChain) {
    starting = startDevChain({
      dataDir: options.dataDir,
      log,
      clock,
      ...options.devChain,
      relayers: keysOf(devChainId).relayers.map(({ address }) => address),
      signedSince: (sender, nonce) => rawAttemptsSince(db.read, { chainId: devChainId, sender, nonce }),
    })
  }
  const embedded = await starting
  try {
    const remotes = remote.map((chain) => ({ chain, endpoints: new RpcEndpoints(chain.rpcUrls, chain) }))
    const all = [
      ...(embedded ? [embeddedAccess(embedded, keysOf(devChainId))] : []),
      ...remotes.map(({ chain, endpoints }) => remoteAccess(chain, endpoints, keysOf(chain.chainId))),
    ]
    const byId = new Map(all.map((chain) => [chain.id, chain]))
    const get = (chainId: number): Chain => {
      const chain = byId.get(chainId)
      if (!chain) throw new ChainNotConfigured(chainId)
      return chain
    }
    const signers = (chainId: number) => signersOf(keysOf(chainId))
    const settings: ChainSettings[] = [
      ...(embedded
        ? [
            {
              chainId: devChainId,
              transport: embedded.transport,
              confirmations: 1,
              maxFeePerGas: 1000n * gwei,
              tip: embeddedTip,
              minTip: 0n,
              maxTip: undefined,
              maxGas: defaultMaxGas,
              forgets: true,
              timing: embeddedTiming,
              signers: signers(devChainId),
            },
          ]
        : []),
      ...remotes.map(({ chain, endpoints }) => ({
        ...chain,
        transport: endpoints.transport,
        market: get(chain.chainId).market,
        signers: signers(chain.chainId),
      })),
    ]
    const relayer = await openRelayer({
      db,
      clock,
      chains: settings,
      broadcastTimeoutMs: options.broadcastTimeoutMs,
      onSettled,
      withoutEffect: (row, blockNumber) => options.withoutEffect(get(row.chainId), row, blockNumber),
      builders: {
        [claimBuilder]: phygitalClaim({
          signVerifier: (chainId) => get(chainId).signVerifier,
          expiryBlocks: (chainId) => get(chainId).expiryBlocks(),
        }),
        [moveBuilder]: contractMove,
      },
    })
    embedded?.onRestart(() => relayer.wake())
    return {
      all,
      relayer: { ...relayer, status: () => relayer.status().map(withUnansweredTime(embedded)) },
      embedded,
      rpcUrls: embedded ? { [devChainId]: embedded.rpcUrl } : {},
      get,
      has: (chainId) => byId.has(chainId),
      close: async () => {
        // Ending a chain that does not respond releases everything that waits for its answer.
        if (embedded && !(await embedded.answers())) await embedded.stop()
        try {
          await relayer.close()
        } finally {
          await embedded?.stop()
          await release?.()
        }
      },
    }
  } catch (error) {
    await embedded?.stop()
    await release?.()
    throw error
  }
}

/** An idle relayer does not notice that the embedded chain stopped responding. */
const withUnansweredTime =
  (embedded: DevChain | undefined) =>
  (status: SenderStatus): SenderStatus =>
    status.chainId !== devChainId || status.trouble !== undefined || embedded?.isAnswering !== false
      ? status
      : { ...status, trouble: new ChainUnavailable('The embedded dev chain does not answer.') }
