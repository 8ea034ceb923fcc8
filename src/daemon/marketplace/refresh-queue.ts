import { BackgroundLoop } from '../../values/background-loop.ts'
import type { Marketplace, RefreshResult, Token } from './opensea.ts'

/** A metadata change that the marketplace has not seen yet. Times are in milliseconds. */
export interface RefreshJob extends Token {
  id: number
  queuedAt: number
  /** The last request for this token, if the store still knows. */
  askedAt?: number | null
}

export interface RefreshStore {
  due(now: number, limit: number): Promise<readonly RefreshJob[]>
  /**
   * @param askedAt just before the request, for `askedAt` of the token's next job. The marketplace may have
   * missed changes from that time on: a store that lets one waiting job cover several changes must then keep it
   */
  done(id: number, askedAt: number): Promise<unknown>
  later(id: number, at: number, reason: string): Promise<unknown>
  giveUp(id: number, reason: string): Promise<unknown>
}

interface RefreshQueueSettings {
  store: RefreshStore
  marketplace: Marketplace
  clock: { now(): number; monotonic(): number }
  failed(error: unknown): void
  /** Absent: no other daemon uses the store. */
  election?: { readonly isLeader: boolean; check(): Promise<boolean> }
  everyMs?: number
  limit?: number
}

const minute = 60_000
// Indexers accept one refresh per token every 5 to 15 minutes.
const pauseMs = 5 * minute
const maxPauseMs = 60 * minute
const giveUpAfterMs = 24 * 60 * minute

/** Works through waiting refreshes, one after another. Each is requested at least once, even after a crash. */
export class RefreshQueue {
  readonly #settings: RefreshQueueSettings
  /** Request times by token; entries older than five minutes are removed. */
  readonly #asked = new Map<string, number>()
  /** Monotonic. */
  #quietUntil = 0
  readonly #loop: BackgroundLoop<number>

  constructor(settings: RefreshQueueSettings) {
    this.#settings = settings
    const { failed, everyMs: firstMs = 5000 } = settings
    this.#loop = new BackgroundLoop({ run: () => this.#work(), firstMs, restMs: () => firstMs, failed })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /**
   * Works through everything that is due; concurrent calls share one run.
   * @returns the number of requests made
   */
  tick(): Promise<number> {
    return this.#loop.tick()
  }

  async #work(): Promise<number> {
    const { store, marketplace, clock, election, limit = 50 } = this.#settings
    let count = 0
    if ((await election?.check()) === false) return count
    if (clock.monotonic() < this.#quietUntil) return count
    for (const [token, jobs] of byToken(await store.due(clock.now(), limit))) {
      const [first] = jobs
      if (this.#loop.isEnding || clock.monotonic() < this.#quietUntil || !first) break
      if (election?.isLeader === false) break
      const free = this.#freeAt(token, jobs)
      if (free > clock.now()) {
        for (const { id } of jobs) await store.later(id, free, 'refreshed less than five minutes ago')
        continue
      }
      const { chainId, contract, tokenId } = first
      const askedAt = clock.now()
      const result = await marketplace.refresh({ chainId, contract, tokenId })
      count++
      this.#note(token, askedAt, result)
      // All of them were queued before the request, so the marketplace has seen their changes.
      for (const job of jobs) await this.#settle(job, askedAt, result)
    }
    return count
  }

  #freeAt(token: string, jobs: readonly RefreshJob[]): number {
    const times = [this.#asked.get(token), ...jobs.map(({ askedAt }) => askedAt)]
    // A time in the future was recorded before the clock was set back.
    const now = this.#settings.clock.now()
    return Math.max(...times.map((time) => (time == null || time > now ? 0 : time + pauseMs)))
  }

  #note(token: string, askedAt: number, result: RefreshResult): void {
    const now = this.#settings.clock.now()
    // Keeps the oldest entries first.
    this.#asked.delete(token)
    this.#asked.set(token, askedAt)
    for (const [old, at] of this.#asked) {
      if (at <= now && at + pauseMs > now) break
      this.#asked.delete(old)
    }
    if (result.kind === 'retry' && result.scope === 'all')
      this.#quietUntil = this.#settings.clock.monotonic() + result.afterMs
  }

  async #settle({ id, queuedAt }: RefreshJob, askedAt: number, result: RefreshResult): Promise<unknown> {
    const { store, clock } = this.#settings
    const now = clock.now()
    if (result.kind === 'done') return store.done(id, askedAt)
    if (result.kind === 'refused') return store.giveUp(id, result.reason)
    // Waiting as long again as it has waited so far doubles each wait without counting attempts.
    const backoff = Math.min(Math.max(now - queuedAt, pauseMs), maxPauseMs)
    const at = now + Math.max(backoff, result.afterMs)
    if (at - queuedAt > giveUpAfterMs) return store.giveUp(id, `${result.reason}, for a day`)
    return store.later(id, at, result.reason)
  }
}

function byToken(jobs: readonly RefreshJob[]): Map<string, RefreshJob[]> {
  const groups = new Map<string, RefreshJob[]>()
  for (const job of jobs) {
    const token = `${job.chainId} ${job.contract.toLowerCase()} ${job.tokenId}`
    const group = groups.get(token)
    if (group) group.push(job)
    else groups.set(token, [job])
  }
  return groups
}
