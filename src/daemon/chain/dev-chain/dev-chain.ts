import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type Address, type Chain, custom, type Hex, type Transport } from 'viem'
import * as z from 'zod'
import { anvilBinary } from './anvil-binary.ts'
import { devChainId, nameServiceOwner } from './dev-keys.ts'
import { Gateway, type Request } from './gateway.ts'
import { devChainAt, ensureNames } from './names.ts'
import { endOrphan } from './orphan.ts'
import { openRpcGuard, type RpcMode } from './rpc-guard.ts'
import { cacheDirIn, fundOn, pidFileIn, type RunningChain } from './running-chain.ts'
import { removeLeftovers, StateKeeper, saveState } from './saved-states.ts'
import { Supervisor } from './supervisor.ts'

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
  /** Their transactions that a kill took from the chain are sent again, and each has a million ether at each start. */
  relayers(): readonly Address[]
  /** A relayer's signed transactions with this nonce and later ones, in signing order and in small batches. */
  signedSince(relayer: Address, nonce: number): AsyncIterable<readonly Hex[]> | Iterable<readonly Hex[]>
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
  /** Gives relayers that are known only now their money. */
  fund(relayers: readonly Address[]): Promise<void>
  setNames(names: Readonly<Record<string, string>>): Promise<void>
  /** Called when the chain is restored after a crash: transactions may be in other blocks than before. @returns a function that removes the listener */
  onRestart(listener: () => void): () => void
  /** Saves the state, unless the chain hangs, and ends it. */
  stop(): Promise<void>
}

const nonceOf = (count: unknown): number => z.string().transform(Number).parse(count)

export async function startDevChain(settings: DevChainSettings): Promise<DevChain> {
  const { log, clock = { now: () => Date.now(), monotonic: () => performance.now() } } = settings
  const dir = join(settings.dataDir, 'dev-chain')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  await removeLeftovers(dir)
  await endOrphan({
    pidFile: pidFileIn(dir),
    cacheDir: cacheDirIn(dir),
    log,
    rescue: async (connection) => void (await saveState(dir, { connection })),
  })
  rmSync(cacheDirIn(dir), { recursive: true, force: true })
  mkdirSync(cacheDirIn(dir), { mode: 0o700 })

  const names: Record<string, string> = { ...settings.names }
  const supervisor = new Supervisor({
    binary: settings.binary ?? anvilBinary(),
    dir,
    log,
    clock,
    endsWithDaemon: settings.endsWithDaemon ?? false,
    maxCatchUp: settings.maxCatchUp ?? 200,
    mined: () => keeper.changed(),
    restore,
  })
  const keeper = new StateKeeper({
    dir,
    log,
    chain: () => (supervisor.isUp ? supervisor.chain : undefined),
    saveAfterMs: settings.saveAfterMs ?? 2000,
  })
  const gateway = new Gateway({ mode: settings.rpcMode, changed: () => keeper.changed() })

  async function restore(chain: RunningChain): Promise<void> {
    const started = performance.now()
    await fundOn(chain.connection, [nameServiceOwner, ...settings.relayers()])
    let resent = 0
    for (const relayer of settings.relayers()) resent += await resend(chain, relayer)
    const named = await setNamesOn(chain)
    const tookMs = Math.round(performance.now() - started)
    log.info({ resent, named, tookMs }, 'the dev chain is restored')
  }

  /** Resends a relayer's transactions that the saved state lacks. @returns their number, with all attempts */
  async function resend({ connection, blocks }: RunningChain, relayer: Address): Promise<number> {
    const nonce = nonceOf(await connection.call('eth_getTransactionCount', [relayer, 'latest']))
    let sent = 0
    for await (const batch of settings.signedSince(relayer, nonce)) {
      // Refusals can be ignored: another attempt may have used the nonce, and the relayer resends what is missing.
      await connection.batch(batch.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })))
      await blocks.emptyPool()
      sent += batch.length
    }
    return sent
  }

  const setNamesOn = (chain: RunningChain) =>
    ensureNames(
      {
        url: chain.process.url,
        request: (call) => gateway.request(chain, call),
        settle: () => chain.blocks.emptyPool(),
      },
      names,
    )
  const request = async (call: Request) => gateway.request(supervisor.chain, call)

  try {
    await supervisor.start()
    const { rpcMode: mode, rpcPort: port = 0, rpcOrigins: origins = [] } = settings
    const guard = await openRpcGuard({ mode, port, origins }, async (calls) =>
      gateway.performForOthers(supervisor.chain, calls),
    )
    if (port !== 0 && !guard.url.endsWith(`:${port}`))
      log.warn({ port, url: guard.url }, "the dev chain's RPC has another port: its own is in use")
    let naming: Promise<unknown> = Promise.resolve()
    return {
      chainId: devChainId,
      rpcUrl: guard.url,
      get internalUrl() {
        return supervisor.url
      },
      get pid() {
        return supervisor.isUp ? supervisor.chain.process.pid : undefined
      },
      get isAnswering() {
        return supervisor.isAnswering
      },
      answers: () => supervisor.answers(),
      chain: devChainAt(guard.url),
      transport: custom({ request }, { key: 'devChain', name: 'Embedded dev chain', retryCount: 0 }),
      request,
      mine: async (count) => supervisor.chain.blocks.mine(count),
      catchUp: async () => supervisor.chain.blocks.catchUp(),
      dump: () => keeper.save(),
      fund: async (relayers) => fundOn(supervisor.chain.connection, relayers),
      setNames: async (more) => {
        Object.assign(names, more)
        const done = naming.then(() => setNamesOn(supervisor.chain))
        naming = done.catch(() => undefined)
        await done
      },
      onRestart: (listener) => supervisor.onRestart(listener),
      stop: async () => {
        await guard.close()
        await supervisor.stop(async () => {
          const isAnswering = await supervisor.answers()
          // Transactions of the relayer that fail here are sent again at the next start.
          if (isAnswering) await supervisor.chain.blocks.emptyPool().catch(() => undefined)
          await keeper
            .close({ withSave: isAnswering })
            .catch((err: unknown) => log.warn({ err }, 'the last state could not be saved'))
        })
      },
    }
  } catch (error) {
    await supervisor.stop(() => keeper.close({ withSave: false }))
    throw error
  }
}
