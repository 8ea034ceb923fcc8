import type { Logger } from 'pino'
import * as z from 'zod'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import type { RpcConnection } from '../rpc-connection.ts'
import type { BlockMaker } from './block-maker.ts'
import { dumpTimeoutMs } from './connect.ts'
import type { Journal } from './journal.ts'
import { signedInPool } from './replay.ts'
import type { Snapshots } from './snapshots.ts'

const hex = z.string().regex(/^0x[0-9a-f]*$/i)

interface KeptChain {
  connection: RpcConnection
  /** Absent if nothing makes blocks, because the process that did is gone. */
  blocks?: Pick<BlockMaker, 'betweenBlocks'>
}

interface KeeperSettings {
  clock: { now(): number }
  log: Logger
  snapshots: Snapshots
  journal: Journal
  chain(): KeptChain | undefined
  /** A state is saved after this many blocks with transactions. */
  everyBlocks: number
  /** Or when the chain was idle for this long. */
  idleMs: number
}

/** Saves the chain's state now and then, so that a crash leaves little to replay. */
export class Keeper {
  readonly #settings: KeeperSettings
  readonly #loop: BackgroundLoop
  #blocks = 0
  #changed = false
  #changedAt = 0
  #notBefore = 0
  #number: number
  #running: Promise<void> | undefined

  /** @param number that of the newest saved state; 0 if there is none */
  constructor(settings: KeeperSettings, number: number) {
    this.#settings = settings
    this.#number = number
    const firstMs = Math.max(20, settings.idleMs / 4)
    const failed = (err: unknown) =>
      settings.log.warn({ err }, 'the state of the dev chain could not be saved; trying again later')
    this.#loop = new BackgroundLoop({ run: () => this.#tick(), firstMs, restMs: () => firstMs, failed })
    this.#loop.start()
  }

  changed(blocks = 0): void {
    this.#changed = true
    this.#changedAt = performance.now()
    this.#blocks += blocks
  }

  async keep(): Promise<void> {
    await this.#running?.catch(() => undefined)
    this.#running ??= this.#keep().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  giveUp(): void {
    void this.#loop.stop()
  }

  async close(): Promise<void> {
    await this.#loop.stop()
    await this.#running?.catch(() => undefined)
    if (this.#changed) await this.keep()
  }

  async #tick(): Promise<void> {
    const now = performance.now()
    const isDue = this.#blocks >= this.#settings.everyBlocks || now - this.#changedAt >= this.#settings.idleMs
    if (!this.#changed || !isDue || now < this.#notBefore || this.#running) return
    if (this.#settings.chain() === undefined) return
    await this.keep()
  }

  async #keep(): Promise<void> {
    const { snapshots, journal, clock, log } = this.#settings
    const chain = this.#settings.chain()
    if (!chain) return
    const started = performance.now()
    const number = this.#number + 1
    this.#changed = false
    this.#blocks = 0
    try {
      const bytes = await keepState({ chain, snapshots, journal, number, takenAt: clock.now() })
      // Only now, so that a disk that stays full is not filled with empty journal parts.
      this.#number = number
      const tookMs = Math.round(performance.now() - started)
      log.debug({ number, bytes, tookMs }, 'saved the state of the dev chain')
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
  chain: KeptChain
  number: number
  takenAt: number
}

/** Saves a state of the chain, and begins the journal part that follows it. @returns its size in bytes */
export async function keepState({
  chain: { connection, blocks },
  snapshots,
  journal,
  number,
  takenAt,
}: Keeping): Promise<number> {
  // First, because transactions that arrive during the dump may or may not be in it.
  journal.begin(number)
  // A state does not contain the pool.
  for (const entry of journal.append(await signedInPool(connection))) journal.settle(entry, true)
  const dump = () => connection.call('anvil_dumpState', [], { timeoutMs: dumpTimeoutMs })
  // anvil reads the receipts before the accounts, so a block made meanwhile would be in the latter alone: its
  // transactions would seem not to have been mined, and be sent again.
  const state = hex.parse(await (blocks === undefined ? dump() : blocks.betweenBlocks(dump)))
  const bytes = Buffer.from(state.slice(2), 'hex')
  const kept = await snapshots.save(bytes, number, takenAt)
  journal.forgetBefore(kept.at(-1)?.number ?? 0)
  return bytes.length
}
