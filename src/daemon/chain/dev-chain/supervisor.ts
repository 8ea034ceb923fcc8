import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainUnavailable } from '../rpc-connection.ts'
import type { AnvilAddress } from './anvil-process.ts'
import { markerOf } from './connect.ts'
import { isShortage } from './not-started.ts'
import { type BootSettings, bootChain, haltChain, type RunningChain } from './running-chain.ts'
import type { Renewal } from './types.ts'

const firstPauseMs = 50
const longestPauseMs = 5000
/** What anvil keeps of a transfer, about. */
const bytesATransaction = 24 * 1024
/** A hundred blocks to catch up on, or a large state, take seconds. */
const longestSilenceMs = 5000

export interface SupervisorSettings extends Omit<BootSettings, 'failed' | 'history'> {
  log: Logger
  /** Brings a chain that has just started to where it was; nobody else reaches it before. */
  restore(chain: RunningChain): Promise<void>
  /** Takes a state of the chain now. */
  keep(): Promise<void>
  renewal: Renewal
}

/** Keeps one anvil running: when it dies, or has grown too large, another begins from the last state. */
export class Supervisor {
  readonly #settings: SupervisorSettings
  readonly #exited = new Set<() => void>()
  readonly #restarted = new Set<() => void>()
  #chain: RunningChain | undefined
  #address: AnvilAddress | undefined
  #url = ''
  readonly #stop = new AbortController()
  #restarting: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #renewAt = 0
  /** Transactions that this anvil has mined. */
  #mined = 0
  #uses = 0
  #unused: (() => void) | undefined

  constructor(settings: SupervisorSettings) {
    this.#settings = settings
  }

  get #stopping(): boolean {
    return this.#stop.signal.aborted
  }

  /** The chain, restored. @throws ChainUnavailable while there is none */
  get chain(): RunningChain {
    if (this.#chain) return this.#chain
    const what = this.#stopping ? 'has stopped' : 'is being started again'
    throw new ChainUnavailable(`The embedded dev chain ${what}. Try again.`)
  }

  /** Runs something on the chain; while it is started anew from its state, that waits. @throws ChainUnavailable */
  async use<T>(job: (chain: RunningChain) => Promise<T>): Promise<T> {
    while (this.#renewing) await this.#renewing
    const chain = this.chain
    this.#uses += 1
    try {
      return await job(chain)
    } finally {
      this.#uses -= 1
      if (this.#uses === 0) this.#unused?.()
    }
  }

  get isUp(): boolean {
    return this.#chain !== undefined
  }

  /** Whoever asks one that is started anew from its state waits, and is answered. */
  get isAnswering(): boolean {
    return this.#chain ? this.#chain.blocks.silentMs < longestSilenceMs : this.#renewing !== undefined
  }

  /** Asks it. A process that was stopped (SIGSTOP) is there, and silent. */
  async answers(): Promise<boolean> {
    return this.#chain !== undefined && (await markerOf(this.#chain.connection)) !== undefined
  }

  /** Where anvil listens, or did last. */
  get url(): string {
    return this.#url
  }

  /** @param history how much of the past to begin with; undefined: all that the state has */
  async start(history?: Renewal['history']): Promise<void> {
    const chain = await bootChain(
      {
        ...this.#settings,
        ...(history === undefined ? {} : { history }),
        mined: (taken) => this.#grown(taken),
        failed: (error) => this.#suspect(error),
      },
      this.#address,
    )
    this.#address = chain.process.address
    this.#url = chain.process.url
    try {
      await this.#settings.restore(chain)
    } catch (error) {
      await haltChain(chain, this.#settings.dir)
      throw error
    }
    this.#chain = chain
    this.#mined = 0
    void chain.process.exited.then((said) => this.#gone(chain, said))
  }

  onExit(listener: () => void): () => void {
    this.#exited.add(listener)
    return () => this.#exited.delete(listener)
  }

  onRestart(listener: () => void): () => void {
    this.#restarted.add(listener)
    return () => this.#restarted.delete(listener)
  }

  /** Ends the chain. @param last what is still to be done with it */
  async stop(last: () => Promise<void>): Promise<void> {
    this.#stop.abort()
    await this.#renewing
    await this.#restarting
    await last()
    const chain = this.#chain
    this.#chain = undefined
    if (chain) await haltChain(chain, this.#settings.dir)
  }

  #gone(chain: RunningChain, said: string): void {
    if (this.#stopping || this.#chain !== chain) return
    this.#settings.log.error({ pid: chain.process.pid, said }, 'the dev chain died; starting it again')
    this.#restart(chain)
  }

  #restart(dead: RunningChain): void {
    this.#chain = undefined
    this.#restarting = this.#startAgain(dead).finally(() => {
      this.#restarting = undefined
    })
    for (const listener of this.#exited) listener()
  }

  #grown(taken: number): void {
    this.#settings.mined(taken)
    this.#mined += taken
    const chain = this.#chain
    const { above } = this.#settings.renewal
    if (!chain || above === undefined || this.#stopping || this.#renewing) return
    if (performance.now() < this.#renewAt) return
    const bytes = memoryOf(chain.process.pid) ?? this.#mined * bytesATransaction
    if (bytes <= above) return
    this.#renewing = this.#renew(chain, bytes).finally(() => {
      this.#renewing = undefined
    })
  }

  /** Has another anvil take over from the state of one that has grown. Never two at once: each takes the memory. */
  async #renew(chain: RunningChain, bytes: number): Promise<void> {
    const { log, dir, renewal, snapshots } = this.#settings
    const started = performance.now()
    try {
      while (this.#uses > 0)
        await new Promise<void>((resolve) => {
          this.#unused = resolve
        })
      chain.blocks.hold(true)
      await chain.blocks.emptyPool()
      await this.#settings.keep()
      // While the old one still runs: on a disk with no room for it that one has to go on.
      await snapshots.prepare(renewal.history)
      log.info({ bytes }, 'the dev chain takes much memory; starting it anew from its state')
      if (this.#chain !== chain || this.#stopping) return
      this.#chain = undefined
      await haltChain(chain, dir)
      await this.start(renewal.history)
      const pausedMs = Math.round(performance.now() - started)
      log.info({ pausedMs, bytes: memoryOf(this.chain.process.pid) }, 'the dev chain was started anew')
    } catch (err) {
      log.warn({ err }, 'the dev chain could not be started anew')
      // Without its last state it goes on as it is.
      if (this.#chain === undefined && this.#restarting === undefined) this.#restart(chain)
    } finally {
      chain.blocks.hold(false)
      const now = performance.now()
      this.#renewAt = now + (now - started) * (1 / renewal.share - 1)
    }
  }

  async #startAgain(dead: RunningChain): Promise<void> {
    dead.connection.close()
    await dead.blocks.close()
    for (let pauseMs = firstPauseMs; !this.#stopping; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        await this.start()
        this.#settings.log.info({ url: this.url }, 'the dev chain runs again')
        for (const listener of this.#restarted) listener()
        return
      } catch (err) {
        this.#settings.log.error({ err, pauseMs }, 'the dev chain does not start')
        await wait(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
      }
    }
  }

  /** A chain that answers nothing any more is ended, and so begins anew. */
  #suspect(error: unknown): void {
    const chain = this.#chain
    if (!chain || this.#stopping) return
    this.#settings.log.warn({ err: error }, 'the dev chain made no block')
    // Ours is the shortage: another one could not be started now either.
    if (!(error instanceof ChainUnavailable) || isShortage(error)) return
    void markerOf(chain.connection).then((marker) => (marker === undefined ? chain.process.end() : undefined))
  }
}

/** How much memory a process takes, in bytes, where the system shows that. */
function memoryOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}
