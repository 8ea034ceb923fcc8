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
/** An approximation of anvil's memory per transfer. */
const bytesATransaction = 24 * 1024
/** A hundred catch-up blocks, or a large state, take seconds. */
const longestSilenceMs = 5000

interface SupervisorSettings extends Omit<BootSettings, 'failed' | 'history'> {
  log: Logger
  /** Restores a chain that has just started, before anyone else can use it. */
  restore(chain: RunningChain): Promise<void>
  keep(): Promise<void>
  renewal: Renewal
}

/** Keeps one anvil running: if it dies or has grown too large, another one starts from the last state. */
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
  #mined = 0
  #uses = 0
  #unused: (() => void) | undefined

  constructor(settings: SupervisorSettings) {
    this.#settings = settings
  }

  get #stopping(): boolean {
    return this.#stop.signal.aborted
  }

  /** The restored chain. @throws ChainUnavailable while there is none */
  get chain(): RunningChain {
    if (this.#chain) return this.#chain
    const what = this.#stopping ? 'has stopped' : 'is restarting'
    throw new ChainUnavailable(`The embedded dev chain ${what}. Try again.`)
  }

  /** Runs a job on the chain; waits during a renewal. @throws ChainUnavailable */
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

  /** During a renewal, callers wait and are answered. */
  get isAnswering(): boolean {
    return this.#chain ? this.#chain.blocks.silentMs < longestSilenceMs : this.#renewing !== undefined
  }

  /** Asks the chain: a stopped process (SIGSTOP) exists, but does not answer. */
  async answers(): Promise<boolean> {
    return this.#chain !== undefined && (await markerOf(this.#chain.connection)) !== undefined
  }

  /** anvil's current or last address. */
  get url(): string {
    return this.#url
  }

  /** @param history the part of the past to load; undefined: all of it */
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
    this.#settings.log.error({ pid: chain.process.pid, said }, 'the dev chain died; restarting it')
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

  /**
   * Replaces an anvil that has grown by a new one with the same state. Never both at once, because each needs
   * the memory.
   */
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
      // While the old one still runs: if the disk has no room for it, the old one continues.
      await snapshots.prepare(renewal.history)
      log.info({ bytes }, 'the dev chain uses much memory; restarting it from its state')
      if (this.#chain !== chain || this.#stopping) return
      this.#chain = undefined
      await haltChain(chain, dir)
      await this.start(renewal.history)
      const pausedMs = Math.round(performance.now() - started)
      log.info(
        { pausedMs, bytes: memoryOf(this.chain.process.pid) },
        'the dev chain was restarted from its state',
      )
    } catch (err) {
      log.warn({ err }, 'the dev chain could not be restarted from its state')
      // If its last state cannot be saved, it continues as it is.
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

  /** Ends a chain that no longer answers, which then restarts. */
  #suspect(error: unknown): void {
    const chain = this.#chain
    if (!chain || this.#stopping) return
    this.#settings.log.warn({ err: error }, 'the dev chain made no block')
    // The daemon itself is short of resources, so another chain could not be started either.
    if (!(error instanceof ChainUnavailable) || isShortage(error)) return
    void markerOf(chain.connection).then((marker) => (marker === undefined ? chain.process.end() : undefined))
  }
}

/** Resident memory in bytes, if the system reports it. */
function memoryOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}
