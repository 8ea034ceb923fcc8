import type { Logger } from 'pino'
import * as z from 'zod'
import { BackgroundLoop } from '../../background-loop.ts'
import type { RpcConnection } from '../rpc-connection.ts'
import { dumpTimeoutMs } from './connect.ts'
import type { Journal } from './journal.ts'
import { signedInPool } from './replay.ts'
import type { Snapshots } from './snapshots.ts'

const hex = z.string().regex(/^0x[0-9a-f]*$/i)

export interface KeeperSettings {
  clock: { now(): number }
  log: Logger
  snapshots: Snapshots
  journal: Journal
  /** The chain to keep, or undefined while there is none. */
  connection(): RpcConnection | undefined
  /** A state is taken after so many blocks with transactions. */
  everyBlocks: number
  /** Or when the chain was idle for so long. */
  idleMs: number
}

/** Takes states of the chain now and then, so that little has to be sent again after a crash. */
export class Keeper {
  readonly #settings: KeeperSettings
  readonly #loop: BackgroundLoop
  #blocks = 0
  #changed = false
  #changedAt = 0
  #notBefore = 0
  #number: number
  #running: Promise<void> | undefined

  /** @param number that of the newest state there is; 0: none */
  constructor(settings: KeeperSettings, number: number) {
    this.#settings = settings
    this.#number = number
    const firstMs = Math.max(20, settings.idleMs / 4)
    const failed = (err: unknown) =>
      settings.log.warn({ err }, 'the state of the dev chain could not be kept; trying again later')
    this.#loop = new BackgroundLoop({ run: () => this.#tick(), firstMs, restMs: () => firstMs, failed })
    this.#loop.start()
  }

  /** The chain is no longer as the last state has it. */
  changed(blocks = 0): void {
    this.#changed = true
    this.#changedAt = performance.now()
    this.#blocks += blocks
  }

  /** Takes a state now, after one that is being taken. */
  async keep(): Promise<void> {
    await this.#running?.catch(() => undefined)
    this.#running ??= this.#keep().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Takes no more states. */
  giveUp(): void {
    void this.#loop.stop()
  }

  /** Takes a last state when anything has changed. */
  async close(): Promise<void> {
    await this.#loop.stop()
    await this.#running?.catch(() => undefined)
    if (this.#changed) await this.keep()
  }

  async #tick(): Promise<void> {
    const now = performance.now()
    const isDue = this.#blocks >= this.#settings.everyBlocks || now - this.#changedAt >= this.#settings.idleMs
    if (!this.#changed || !isDue || now < this.#notBefore || this.#running) return
    if (this.#settings.connection() === undefined) return
    await this.keep()
  }

  async #keep(): Promise<void> {
    const { snapshots, journal, clock, log } = this.#settings
    const connection = this.#settings.connection()
    if (!connection) return
    const started = performance.now()
    const number = this.#number + 1
    this.#changed = false
    this.#blocks = 0
    try {
      const bytes = await keepState({ connection, snapshots, journal, number, takenAt: clock.now() })
      // Only now: a disk that is full for long must not fill up with parts of the journal that hold nothing.
      this.#number = number
      const tookMs = Math.round(performance.now() - started)
      log.debug({ number, bytes, tookMs }, 'kept the state of the dev chain')
    } catch (error) {
      this.#changed = true
      throw error
    } finally {
      // The chain stands still meanwhile: at most a twentieth of its time.
      this.#notBefore = performance.now() + 20 * (performance.now() - started)
    }
  }
}

interface Keeping extends Pick<KeeperSettings, 'snapshots' | 'journal'> {
  connection: RpcConnection
  number: number
  takenAt: number
}

/** Takes a state of the chain, and begins the part of the journal that follows it. @returns its bytes */
export async function keepState({
  connection,
  snapshots,
  journal,
  number,
  takenAt,
}: Keeping): Promise<number> {
  // First: what comes in while the state is taken may be in it or not.
  journal.begin(number)
  // A state has no pool.
  for (const entry of journal.append(await signedInPool(connection))) journal.settle(entry, true)
  const state = hex.parse(await connection.call('anvil_dumpState', [], { timeoutMs: dumpTimeoutMs }))
  const bytes = Buffer.from(state.slice(2), 'hex')
  const kept = await snapshots.save(bytes, number, takenAt)
  journal.forgetBefore(kept.at(-1)?.number ?? 0)
  return bytes.length
}
