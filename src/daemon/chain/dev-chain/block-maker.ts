import * as z from 'zod'
import type { RpcConnection } from '../rpc-connection.ts'

const quantity = z.string().transform(Number)
const poolStatus = z.object({ pending: quantity })
const block = z.object({ number: quantity, timestamp: quantity })

// Lets the rest of a burst arrive, so that it shares a block.
const gatherMs = 3
const blockMs = 12_000

/** Transactions sent directly to anvil are noticed within this time. */
const pollMs = 200

export interface BlockMakerSettings {
  connection: RpcConnection
  clock: { now(): number; monotonic(): number }
  maxCatchUp: number
  /** Called after blocks that somebody requested. */
  mined(): void
  /** Called when making blocks failed; the next transaction or poll retries. */
  failed(error: unknown): void
}

/** Makes blocks while transactions wait: many in each, and soon after a single one. */
export class BlockMaker {
  readonly #settings: BlockMakerSettings
  readonly #poll: NodeJS.Timeout
  #queue: Promise<unknown> = Promise.resolve()
  #isPoked = false
  #isHeld = false
  #closed = false
  #retryStuck = false
  /** The number of transactions that the last, empty block left in the pool. */
  #stuckCount = 0
  /** Monotonic. */
  #lastBlockAt: number
  #unansweredSince: number | undefined

  constructor(settings: BlockMakerSettings) {
    this.#settings = settings
    this.#lastBlockAt = settings.clock.monotonic()
    this.#poll = setInterval(() => this.#schedule(false), pollMs)
    this.#poll.unref()
  }

  /** The time in milliseconds since the oldest unanswered call; calls are made several times a second. */
  get silentMs(): number {
    return this.#unansweredSince === undefined ? 0 : performance.now() - this.#unansweredSince
  }

  /** Reads the time of the last block from the chain. @param notAfter when its state was saved */
  async readLastBlock(notAfter = Number.POSITIVE_INFINITY): Promise<void> {
    const { timestamp } = block.parse(await this.#call('eth_getBlockByNumber', 'latest', false))
    const { clock } = this.#settings
    const age = Math.max(0, clock.now() - Math.min(timestamp * 1000, notAfter))
    this.#lastBlockAt = clock.monotonic() - age
  }

  poke(): void {
    this.#schedule(true)
  }

  /** Makes blocks until no minable transaction waits, even on hold. */
  emptyPool(): Promise<void> {
    return this.#inTurn(() => this.#emptyPool(true))
  }

  /** Keeps transactions in the pool, or stops doing so. */
  setHeld(isHeld: boolean): void {
    this.#isHeld = isHeld
    this.poke()
  }

  /** Runs something while no block is being made. */
  betweenBlocks<T>(job: () => Promise<T>): Promise<T> {
    return this.#inTurn(job)
  }

  /** @returns the number of the latest block */
  mine(count = 1): Promise<number> {
    return this.#inTurn(async () => {
      await this.#mine(count)
      this.#lastBlockAt = this.#settings.clock.monotonic()
      this.#settings.mined()
      return block.parse(await this.#call('eth_getBlockByNumber', 'latest', false)).number
    })
  }

  /** Adds one block for every 12 s since the last one. @returns their number */
  catchUp(): Promise<number> {
    // Skips the queue: this runs before every read of the chain.
    if (this.#due() === 0) return Promise.resolve(0)
    return this.#inTurn(async () => {
      const count = Math.min(this.#due(), this.#settings.maxCatchUp)
      if (count === 0) return 0
      await this.#mine(count)
      this.#lastBlockAt += this.#due() * blockMs
      return count
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#poll)
    await this.#queue
  }

  #schedule(retryStuck: boolean): void {
    this.#retryStuck ||= retryStuck
    if (this.#isPoked || this.#isHeld || this.#closed) return
    this.#isPoked = true
    setTimeout(() => {
      const run = this.#inTurn(() => {
        this.#isPoked = false
        const retry = this.#retryStuck
        this.#retryStuck = false
        return this.#isHeld || this.#closed ? Promise.resolve() : this.#emptyPool(retry)
      })
      run.catch(this.#settings.failed)
    }, gatherMs)
  }

  #due(): number {
    return Math.max(0, Math.floor((this.#settings.clock.monotonic() - this.#lastBlockAt) / blockMs))
  }

  /** @param retryStuck whether to try transactions that the last block did not take */
  async #emptyPool(retryStuck: boolean): Promise<void> {
    let waiting = await this.#waiting()
    if (waiting === this.#stuckCount && !retryStuck) return
    this.#stuckCount = 0
    while (waiting > 0) {
      const owed = this.#due()
      await this.#call('evm_mine')
      // Blocks for the idle time are still added later, for example after this one, which may contain
      // transactions lost in a kill.
      this.#lastBlockAt = this.#settings.clock.monotonic() - owed * blockMs
      const mined = quantity.parse(await this.#call('eth_getBlockTransactionCountByNumber', 'latest'))
      waiting = await this.#waiting()
      if (mined > 0) {
        this.#settings.mined()
        continue
      }
      // For example, their fees are too low. The next block would be empty as well, so it waits for new
      // transactions.
      this.#stuckCount = waiting
      return
    }
  }

  async #waiting(): Promise<number> {
    return poolStatus.parse(await this.#call('txpool_status')).pending
  }

  #mine(count: number): Promise<unknown> {
    return this.#call('anvil_mine', `0x${count.toString(16)}`)
  }

  async #call(method: string, ...params: unknown[]): Promise<unknown> {
    this.#unansweredSince ??= performance.now()
    const answer = await this.#settings.connection.call(method, params)
    this.#unansweredSince = undefined
    return answer
  }

  #inTurn<T>(job: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(job)
    this.#queue = done.catch(() => undefined)
    return done
  }
}
