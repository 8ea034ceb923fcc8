import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, custom } from 'viem'
import { anvilBinary } from './anvil-binary.ts'
import { devChainId, nameServiceOwner } from './dev-keys.ts'
import { Gateway, type Request } from './gateway.ts'
import { Journal } from './journal.ts'
import { Keeper, keepState } from './keeper.ts'
import { devChainAt, ensureNames } from './names.ts'
import { endOrphan } from './orphan.ts'
import { replay } from './replay.ts'
import { openRpcGuard } from './rpc-guard.ts'
import { cacheDirIn, fundOn, pidFileIn, type RunningChain } from './running-chain.ts'
import { Snapshots } from './snapshots.ts'
import { Supervisor } from './supervisor.ts'
import type { DevChain, DevChainSettings, Renewal } from './types.ts'

export type { DevChain, DevChainSettings } from './types.ts'

const defaultKeepEvery = { blocks: 200, idleMs: 2000 }
const defaultRenewal: Renewal = {
  above: 256 * 1024 * 1024,
  share: 0.01,
  history: { transactions: 4096, blocks: 16_384 },
}

/**
 * A user who controls anvil directly relies on things that a saved state lacks: its snapshots, filters,
 * impersonated accounts, and time.
 */
const renewalFor = ({ rpcMode, renewal = defaultRenewal }: DevChainSettings): Renewal =>
  rpcMode === 'guarded' ? renewal : { ...renewal, above: undefined }

export async function startDevChain(settings: DevChainSettings): Promise<DevChain> {
  const { log, clock = { now: () => Date.now(), monotonic: () => performance.now() } } = settings
  const dir = join(settings.dataDir, 'dev-chain')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const snapshots = new Snapshots(dir)
  await snapshots.clean()
  const journal = new Journal(dir)
  const newest = async () => Math.max((await snapshots.list())[0]?.number ?? 0, journal.newest)
  await endOrphan({
    pidFile: pidFileIn(dir),
    cacheDir: cacheDirIn(dir),
    log,
    rescue: async (connection) => {
      const number = (await newest()) + 1
      await keepState({ chain: { connection }, snapshots, journal, number, takenAt: clock.now() })
    },
  })
  rmSync(cacheDirIn(dir), { recursive: true, force: true })
  mkdirSync(cacheDirIn(dir), { mode: 0o700 })

  const funded = new Set<Address>([nameServiceOwner, ...(settings.fund ?? [])])
  const names: Record<string, string> = { ...settings.names }
  const supervisor = new Supervisor({
    binary: settings.binary ?? anvilBinary(),
    dir,
    log,
    clock,
    snapshots,
    endsWithDaemon: settings.endsWithDaemon ?? false,
    hasHistory: () => journal.hasForgotten,
    mostCatchUp: settings.mostCatchUp ?? 200,
    mined: () => keeper.changed(1),
    restore,
    keep: () => keeper.keep(),
    renewal: renewalFor(settings),
  })
  const { blocks: everyBlocks, idleMs } = settings.keepEvery ?? defaultKeepEvery
  const chain = () => (supervisor.isUp ? supervisor.chain : undefined)
  const keeper = new Keeper({ clock, log, snapshots, journal, chain, everyBlocks, idleMs }, await newest())
  journal.begin(await newest())

  const gateway = new Gateway({
    mode: settings.rpcMode,
    journal,
    changed: () => keeper.changed(),
    writeFailed: (error) => settings.writeFailed?.(error),
  })

  async function restore(chain: RunningChain): Promise<void> {
    const started = performance.now()
    // Replay decides which transactions may share a block.
    chain.blocks.hold(true)
    await fundOn(chain.connection, funded)
    const target = { connection: chain.connection, emptyPool: () => chain.blocks.emptyPool() }
    const sent = await replay(target, journal.readSince(chain.from?.number ?? 0))
    // A state with a future date was saved before the clock was set back, so its date means nothing.
    const takenAt = chain.from?.takenAt
    const since = takenAt !== undefined && takenAt <= clock.now() ? takenAt : undefined
    const stored = await settings.rawTransactions({ since })
    const replayed = sent + (await replay(target, stored))
    const named = await setNamesOn(chain)
    chain.blocks.hold(false)
    const tookMs = Math.round(performance.now() - started)
    log.info({ state: chain.from?.number, replayed, named, tookMs }, 'the dev chain is restored')
    if (replayed + named > 0) keeper.changed()
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
  const request = (call: Request) => supervisor.use((chain) => gateway.request(chain, call))

  try {
    await supervisor.start()
    const { rpcMode: mode, rpcPort: port = 0, rpcOrigins: origins = [] } = settings
    const guard = await openRpcGuard({ mode, port, origins }, (calls) =>
      supervisor.use((chain) => gateway.performForOthers(chain, calls)),
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
      mine: (count) => supervisor.use((chain) => chain.blocks.mine(count)),
      catchUp: () => supervisor.use((chain) => chain.blocks.catchUp()),
      dump: () => supervisor.use(() => keeper.keep()),
      fund: async (...addresses) => {
        for (const address of addresses) funded.add(address)
        await supervisor.use(async (chain) => {
          await fundOn(chain.connection, addresses)
          await keeper.keep()
        })
      },
      setNames: async (more) => {
        Object.assign(names, more)
        const done = naming.then(() => supervisor.use(setNamesOn))
        naming = done.catch(() => undefined)
        await done
      },
      onExit: (listener) => supervisor.onExit(listener),
      onRestart: (listener) => supervisor.onRestart(listener),
      stop: async () => {
        await guard.close()
        await supervisor.stop(async () => {
          if (await supervisor.answers()) {
            // Transactions that fail here are sent again at the next start.
            await supervisor.chain.blocks.emptyPool().catch(() => undefined)
            await keeper
              .close()
              .catch((err: unknown) => log.warn({ err }, 'the last state could not be saved'))
          } else keeper.giveUp()
        })
        journal.close()
      },
    }
  } catch (error) {
    await supervisor.stop(() => keeper.close().catch(() => undefined))
    journal.close()
    throw error
  }
}
