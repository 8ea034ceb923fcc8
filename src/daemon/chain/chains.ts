import type { Logger } from 'pino'
import { BackgroundLoop } from '../../values/background-loop.ts'
import { groupKinds, rawAttemptsSince } from '../store/chain/intents.ts'
import { type Db, isShared } from '../store/database/database.ts'
import { type Chain, embeddedAccess, embeddedTip, type RemoteChain, remoteAccess } from './chain.ts'
import { acquireChain } from './dev-chain/alone.ts'
import { type DevChain, type DevChainSettings, startDevChain } from './dev-chain/dev-chain.ts'
import { devChainId } from './dev-chain/dev-keys.ts'
import {
  type ChainKeys,
  type KeySources,
  type LateKeys,
  loadChainKeys,
  signersOf,
} from './keys/chain-keys.ts'
import { remoteRelayers } from './keys/remote-relayers.ts'
import { SignerProblem } from './keys/transaction-signer.ts'
import { Web3signer } from './keys/web3signer.ts'
import { messageOf } from './node-answer.ts'
import { contractMove, moveBuilder } from './relayer/contract-move.ts'
import { guestbookMints } from './relayer/guestbook-mints.ts'
import { type ClaimOptions, claimBuilder, phygitalClaim } from './relayer/phygital-claim.ts'
import { phygitalMints } from './relayer/phygital-mints.ts'
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
  /** Chains that are not served yet, because the remote signer has never told its keys. */
  late(): readonly { chainId: number; host: string; problem: string }[]
  /** Calls the listener once such a chain is served. */
  onServed(listener: () => Promise<void>): void
  /** @throws ChainNotConfigured, SignerProblem */
  get(chainId: number): Chain
  has(chainId: number): boolean
  close(): Promise<void>
}

// The embedded chain mines immediately, and may restart with an earlier state.
const embeddedTiming = { maxInFlight: 512, busyMs: 4, replaceMs: 600_000 }
const gwei = 1_000_000_000n
const embeddedSettings = {
  chainId: devChainId,
  confirmations: 1,
  maxFeePerGas: 1000n * gwei,
  tip: embeddedTip,
  minTip: 0n,
  maxTip: undefined,
  maxGas: defaultMaxGas,
  forgets: true,
  timing: embeddedTiming,
}
const lateRetryMs = 2000

/** Opens every chain and the relayer. @throws KeyProblem, WrongChain, EmbeddedElsewhere */
export async function openChains(options: ChainsOptions): Promise<Chains> {
  const { db, clock, log, remote, onSettled } = options
  // A remote chain with the embedded chain's id replaces it.
  const isEmbedded = options.devChain !== undefined && remote.every(({ chainId }) => chainId !== devChainId)
  const ids = [...(isEmbedded ? [devChainId] : []), ...remote.map(({ chainId }) => chainId)]
  const late = new Map<number, LateKeys>()
  const signers = new Map<string, Web3signer>()
  const loaded = await loadChainKeys(ids, options.keys, {
    remoteRelayers: ({ signer: url, ...of }) => {
      const signer = signers.get(url) ?? new Web3signer(url)
      signers.set(url, signer)
      return remoteRelayers({ db, log }, { ...of, signer })
    },
    late: (one) => void late.set(one.chainId, one),
  })
  const keys = new Map(loaded)
  let starting: Promise<DevChain> | undefined
  const lost = () => void starting?.then((chain) => chain.stop())
  const release = isEmbedded && isShared(db) ? await acquireChain({ ...options, onLost: lost }) : undefined
  if (isEmbedded && options.devChain) {
    starting = startDevChain({
      dataDir: options.dataDir,
      log,
      clock,
      ...options.devChain,
      relayers: () => keys.get(devChainId)?.relayers.map(({ address }) => address) ?? [],
      signedSince: (sender, nonce) => rawAttemptsSince(db.read, { chainId: devChainId, sender, nonce }),
    })
  }
  const embedded = await starting
  try {
    const all: Chain[] = []
    const get = (chainId: number): Chain => {
      const chain = all.find(({ id }) => id === chainId)
      if (chain) return chain
      throw late.get(chainId)?.problem ?? new ChainNotConfigured(chainId)
    }
    const open = (chainId: number, chainKeys: ChainKeys): { access: Chain; settings: ChainSettings } => {
      const chain = remote.find((one) => one.chainId === chainId)
      const settings = { signers: signersOf(chainKeys) }
      if (chain !== undefined) {
        const endpoints = new RpcEndpoints(chain.rpcUrls, chain)
        const access = remoteAccess(chain, endpoints, chainKeys)
        const { transport } = endpoints
        return { access, settings: { ...chain, ...settings, transport, market: access.market } }
      }
      if (embedded === undefined) throw new ChainNotConfigured(chainId)
      const { transport } = embedded
      return {
        access: embeddedAccess(embedded, chainKeys),
        settings: { ...embeddedSettings, ...settings, transport },
      }
    }
    const opened = [...keys].map(([id, chainKeys]) => open(id, chainKeys))
    all.push(...opened.map(({ access }) => access))
    const claims: ClaimOptions = {
      signVerifier: (chainId) => get(chainId).signVerifier,
      expiryBlocks: (chainId) => get(chainId).expiryBlocks(),
    }
    const relayer = await openRelayer({
      db,
      clock,
      chains: opened.map(({ settings }) => settings),
      broadcastTimeoutMs: options.broadcastTimeoutMs,
      onSettled,
      withoutEffect: (row, blockNumber) => options.withoutEffect(get(row.chainId), row, blockNumber),
      builders: {
        [claimBuilder]: phygitalClaim(claims),
        [groupKinds.phygital]: phygitalMints(claims),
        [groupKinds.guestbook]: guestbookMints,
        [moveBuilder]: contractMove,
      },
    })
    embedded?.onRestart(() => relayer.wake())
    const served: (() => Promise<void>)[] = []
    const serveLate = async ({ chainId, load }: LateKeys): Promise<void> => {
      const chainKeys = await load()
      keys.set(chainId, chainKeys)
      const { access, settings } = open(chainId, chainKeys)
      if (access.isEmbedded) await embedded?.fund(chainKeys.relayers.map(({ address }) => address))
      await relayer.add(settings)
      all.push(access)
      late.delete(chainId)
      log.info({ chainId }, 'the signer has told its keys: the chain is served')
      await Promise.all(served.map((listener) => listener()))
    }
    const asking = new BackgroundLoop({
      run: async () => {
        for (const one of late.values())
          await serveLate(one).catch((error: unknown) => {
            const problem =
              error instanceof SignerProblem
                ? error
                : new SignerProblem(one.problem.host, `cannot be used: ${messageOf(error)}`)
            if (problem.message !== one.problem.message) log.warn({ chainId: one.chainId }, problem.message)
            late.set(one.chainId, { ...one, problem })
          })
      },
      firstMs: lateRetryMs,
      restMs: () => lateRetryMs,
      failed: () => undefined,
    })
    for (const { problem, chainId } of late.values()) log.warn({ chainId }, problem.message)
    if (late.size > 0) asking.start()
    return {
      all,
      late: () =>
        [...late.values()].map(({ chainId, problem: { host, message: problem } }) => ({
          chainId,
          host,
          problem,
        })),
      onServed: (listener) => void served.push(listener),
      relayer: { ...relayer, status: () => relayer.status().map(withUnansweredTime(embedded)) },
      embedded,
      rpcUrls: embedded ? { [devChainId]: embedded.rpcUrl } : {},
      get,
      has: (chainId) => all.some(({ id }) => id === chainId),
      close: async () => {
        // Ending a chain that does not respond releases everything that waits for its answer.
        if (embedded && !(await embedded.answers())) await embedded.stop()
        for (const signer of signers.values()) signer.close()
        try {
          await Promise.all([asking.stop(), relayer.close()])
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
