import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainUnavailable } from '../rpc-connection.ts'
import type { AnvilAddress } from './anvil-process.ts'
import { markerOf } from './connect.ts'
import { isResourceLimit } from './not-started.ts'
import { type BootSettings, bootChain, haltChain, type RunningChain } from './running-chain.ts'

const firstPauseMs = 50
const maxPauseMs = 5000
/** A hundred catch-up blocks, or a large state, take seconds. */
const maxSilenceMs = 5000

interface SupervisorSettings extends Omit<BootSettings, 'failed'> {
  log: Logger
  /** Restores a chain that has just started, before anyone else can use it. */
  restore(chain: RunningChain): Promise<void>
}

/** Keeps one anvil running: if it dies, another one starts from the last state. */
export class Supervisor {
  readonly #settings: SupervisorSettings
  readonly #restarted = new Set<() => void>()
  #chain: RunningChain | undefined
  #address: AnvilAddress | undefined
  #url = ''
  readonly #stop = new AbortController()
  #restarting: Promise<void> | undefined

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

  get isUp(): boolean {
    return this.#chain !== undefined
  }

  get isAnswering(): boolean {
    return this.#chain !== undefined && this.#chain.blocks.silentMs < maxSilenceMs
  }

  /** Asks the chain: a stopped process (SIGSTOP) exists, but does not answer. */
  async answers(): Promise<boolean> {
    return this.#chain !== undefined && (await markerOf(this.#chain.connection)) !== undefined
  }

  /** anvil's current or last address. */
  get url(): string {
    return this.#url
  }

  async start(): Promise<void> {
    const failed = (error: unknown) => this.#reportError(error)
    const chain = await bootChain({ ...this.#settings, failed }, this.#address)
    this.#address = chain.process.address
    this.#url = chain.process.url
    try {
      await this.#settings.restore(chain)
    } catch (error) {
      await haltChain(chain, this.#settings.dir)
      throw error
    }
    this.#chain = chain
    void chain.process.exited.then((output) => this.#onExit(chain, output))
  }

  onRestart(listener: () => void): () => void {
    this.#restarted.add(listener)
    return () => this.#restarted.delete(listener)
  }

  async stop(last: () => Promise<void>): Promise<void> {
    this.#stop.abort()
    await this.#restarting
    await last()
    const chain = this.#chain
    this.#chain = undefined
    if (chain) await haltChain(chain, this.#settings.dir)
  }

  #onExit(chain: RunningChain, output: string): void {
    if (this.#stopping || this.#chain !== chain) return
    this.#settings.log.error({ pid: chain.process.pid, output }, 'the dev chain died; restarting it')
    this.#restart(chain)
  }

  #restart(dead: RunningChain): void {
    this.#chain = undefined
    this.#restarting = this.#startAgain(dead).finally(() => {
      this.#restarting = undefined
    })
  }

  async #startAgain(dead: RunningChain): Promise<void> {
    dead.connection.close()
    await dead.blocks.close()
    for (let pauseMs = firstPauseMs; !this.#stopping; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
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
  #reportError(error: unknown): void {
    const chain = this.#chain
    if (!chain || this.#stopping) return
    this.#settings.log.warn({ err: error }, 'the dev chain made no block')
    // The daemon itself is short of resources, so another chain could not be started either.
    if (!(error instanceof ChainUnavailable) || isResourceLimit(error)) return
    void markerOf(chain.connection).then((marker) => (marker === undefined ? chain.process.end() : undefined))
  }
}
