import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainUnavailable } from '../rpc-connection.ts'
import type { Place } from './anvil-process.ts'
import { markerOf } from './marker.ts'
import { type BootSettings, bootChain, haltChain, type RunningChain } from './running-chain.ts'

const firstPauseMs = 50
const longestPauseMs = 5000

export interface SupervisorSettings extends Omit<BootSettings, 'failed'> {
  log: Logger
  /** Brings a chain that has just started to where it was; nobody else reaches it before. */
  restore(chain: RunningChain): Promise<void>
}

/** Keeps one anvil running: when it dies, another begins from the last state. */
export class Supervisor {
  readonly #settings: SupervisorSettings
  readonly #exited = new Set<() => void>()
  readonly #restarted = new Set<() => void>()
  #chain: RunningChain | undefined
  #place: Place | undefined
  #url = ''
  #stopping = false
  #restarting: Promise<void> | undefined

  constructor(settings: SupervisorSettings) {
    this.#settings = settings
  }

  /** The chain, restored. @throws ChainUnavailable while there is none */
  get chain(): RunningChain {
    if (this.#chain) return this.#chain
    const what = this.#stopping ? 'has stopped' : 'is being started again'
    throw new ChainUnavailable(`The embedded dev chain ${what}. Try again.`)
  }

  get isUp(): boolean {
    return this.#chain !== undefined
  }

  /** Where anvil listens, or did last. */
  get url(): string {
    return this.#url
  }

  async start(): Promise<void> {
    const chain = await bootChain({ ...this.#settings, failed: (error) => this.#suspect(error) }, this.#place)
    this.#place = chain.process.place
    this.#url = chain.process.url
    try {
      await this.#settings.restore(chain)
    } catch (error) {
      await haltChain(chain, this.#settings.dir)
      throw error
    }
    this.#chain = chain
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

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#restarting
    const chain = this.#chain
    this.#chain = undefined
    if (chain) await haltChain(chain, this.#settings.dir)
  }

  #gone(chain: RunningChain, said: string): void {
    if (this.#stopping || this.#chain !== chain) return
    this.#settings.log.error({ pid: chain.process.pid, said }, 'the dev chain died; starting it again')
    this.#chain = undefined
    this.#restarting = this.#startAgain(chain).finally(() => {
      this.#restarting = undefined
    })
    for (const listener of this.#exited) listener()
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
        await wait(pauseMs)
      }
    }
  }

  /** A chain that answers nothing any more is ended, and so begins anew. */
  #suspect(error: unknown): void {
    const chain = this.#chain
    if (!chain || this.#stopping) return
    this.#settings.log.warn({ err: error }, 'the dev chain made no block')
    if (!(error instanceof ChainUnavailable)) return
    void markerOf(chain.connection).then((marker) => (marker === undefined ? chain.process.end() : undefined))
  }
}
