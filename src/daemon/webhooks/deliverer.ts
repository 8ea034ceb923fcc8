import { BackgroundLoop } from '../background-loop.ts'
import { type Job, Lane, type Target } from './lane.ts'
import type { Pace } from './pace.ts'
import { attempt, type Result, type TryDeps } from './try.ts'

export interface Claimed {
  webhookId: number
  jobs: readonly Job[]
  /** There may be more that were never tried. */
  isMore: boolean
  /** When the next one that was tried is due. */
  nextDueAt: number | undefined
}

/** Claims are held in the name of this process. */
export interface DeliveryStore {
  /** Webhooks that are enabled. */
  targets(): Promise<readonly Target[]>
  /** What an earlier process had claimed is free again. */
  releaseAll(): Promise<unknown>
  /** Records results and claims messages, in one write. */
  exchange(
    results: readonly Result[],
    wanted: readonly { webhookId: number; limit: number }[],
  ): Promise<Claimed[]>
  release(jobs: readonly Job[]): Promise<unknown>
  claimed(id: number): Promise<Job | undefined>
  disable(webhookId: number, reason: string): Promise<unknown>
  /** Deletes old deliveries, and disables the webhook if too many wait. */
  tidy(webhookId: number, isBehind: boolean): Promise<unknown>
}

interface DelivererSettings extends TryDeps {
  store: DeliveryStore
  failed(error: unknown): void
  pace: Pace
}

/** Each kind of receiver has its own places, so that slow ones take none from quick ones. */
const places = 32
/** A receiver that takes longer counts as slow. */
const quickMs = 1000
const wokenMs = 20
const longestRestMs = 30_000
/** While the pace, or the places, hold tries back. */
const pacedRestMs = 50
const tidyEveryMs = 2000
/** Settled deliveries of a webhook between two deletions. */
const settledBetween = 500
const lastTriesMs = 2000

/** Sends what waits for webhooks: each message at least once, even after a crash. */
export class Deliverer {
  readonly #settings: DelivererSettings
  readonly #loop: BackgroundLoop<void>
  #lanes = new Map<number, Lane>()
  #results: Result[] = []
  readonly #tries = new Set<Promise<void>>()
  #tidiedAt = 0
  #isReleased = false
  #isStale = true

  constructor(settings: DelivererSettings) {
    this.#settings = settings
    this.#loop = new BackgroundLoop({
      run: () => this.#work(),
      restMs: () => this.#restMs(),
      wokenMs: () => wokenMs,
      failed: settings.failed,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Ends tries that are soon over, and frees what was not tried. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const jobs = [...this.#lanes.values()].flatMap((lane) => lane.clear())
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, lastTriesMs)
    })
    await Promise.race([Promise.all(this.#tries), late])
    clearTimeout(timer)
    if (this.#results.length > 0) await this.#exchange([])
    if (jobs.length > 0) await this.#settings.store.release(jobs)
  }

  /** Something was recorded for a team; called often. */
  recorded(teamId: number): void {
    this.#settings.pace.recorded()
    for (const lane of this.#lanes.values()) if (lane.target.teamId === teamId) lane.mayHaveFresh = true
    this.#loop.wake()
  }

  /** Webhooks were created, changed, or removed. */
  changed(): void {
    this.#isStale = true
    this.#loop.wake()
  }

  /** Tries a claimed message at once, whatever else waits. */
  async tryNow(id: number): Promise<void> {
    const { store } = this.#settings
    const job = await store.claimed(id)
    const target = job && (await store.targets()).find((one) => one.id === job.webhookId)
    if (!job || !target) return
    const [result] = await attempt(this.#settings, job, target)
    this.#results.push(result)
    await this.#exchange([])
    this.changed()
  }

  async #work(): Promise<void> {
    const { store, clock } = this.#settings
    if (!this.#isReleased) {
      await store.releaseAll()
      this.#isReleased = true
    }
    if (this.#isStale) await this.#reload()
    const now = clock.now()
    const wanted = [...this.#lanes].flatMap(([webhookId, lane]) => {
      const limit = lane.room(now)
      return limit === 0 ? [] : [{ webhookId, limit }]
    })
    const isWriting = this.#settings.pace.untilWrite() === 0
    if (isWriting && (wanted.length > 0 || this.#results.length > 0)) await this.#exchange(wanted)
    this.#startTries()
    await this.#tidy()
  }

  async #reload(): Promise<void> {
    this.#isStale = false
    const targets = await this.#settings.store.targets()
    const lanes = new Map<number, Lane>()
    for (const target of targets) {
      const lane = this.#lanes.get(target.id) ?? new Lane(target)
      lane.target = target
      lane.nextDueAt = 0
      lanes.set(target.id, lane)
    }
    this.#lanes = lanes
  }

  async #exchange(wanted: readonly { webhookId: number; limit: number }[]): Promise<void> {
    const results = this.#results
    this.#results = []
    for (const { webhookId } of wanted) {
      const lane = this.#lanes.get(webhookId)
      // Before the write: what is recorded during it is looked for again.
      if (lane) lane.mayHaveFresh = false
    }
    let claimed: readonly Claimed[]
    try {
      const { pace, store } = this.#settings
      claimed = await pace.timed(() => store.exchange(results, wanted))
    } catch (error) {
      this.#results.unshift(...results)
      for (const { webhookId } of wanted) {
        const lane = this.#lanes.get(webhookId)
        if (lane) lane.mayHaveFresh = true
      }
      throw error
    }
    for (const { webhookId, jobs, isMore, nextDueAt } of claimed) {
      const lane = this.#lanes.get(webhookId)
      if (!lane) continue
      lane.add(jobs)
      lane.mayHaveFresh ||= isMore
      lane.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY
    }
  }

  /** In turn, so that a webhook with many messages does not keep others waiting. */
  #startTries(): void {
    if (this.#loop.isEnding) return
    const { pace } = this.#settings
    const lanes = [...this.#lanes.values()]
    const taken = { quick: 0, slow: 0 }
    for (const lane of lanes) taken[kindOf(lane)] += lane.inFlight
    for (let isProgress = true; isProgress; ) {
      isProgress = false
      for (const lane of lanes) {
        if (taken[kindOf(lane)] >= places || !lane.isReady) continue
        if (!pace.take()) return
        const job = lane.take()
        if (!job) continue
        taken[kindOf(lane)] += 1
        isProgress = true
        const ended = this.#run(lane, job).finally(() => this.#tries.delete(ended))
        this.#tries.add(ended)
      }
    }
    // Whoever came last is first next time.
    const [first] = this.#lanes
    if (first) {
      this.#lanes.delete(first[0])
      this.#lanes.set(...first)
    }
  }

  async #run(lane: Lane, job: Job): Promise<void> {
    const slow = setTimeout(() => {
      lane.isQuick = false
      this.#loop.wake()
    }, quickMs)
    const { clock } = this.#settings
    const began = clock.monotonic()
    const [result, isGone] = await attempt(this.#settings, job, lane.target)
    clearTimeout(slow)
    lane.ended(job)
    lane.isQuick = clock.monotonic() - began < quickMs
    lane.settled += result.outcome === 'again' ? 0 : 1
    if (result.dueAt !== null) lane.nextDueAt = Math.min(lane.nextDueAt, result.dueAt)
    this.#results.push(result)
    if (isGone) {
      lane.isClosed = true
      await this.#settings.store
        .disable(lane.target.id, 'the receiver answered 410 Gone')
        .catch(this.#settings.failed)
      lane.clear()
      lane.isClosed = false
      this.#isStale = true
    }
    this.#startTries()
    this.#loop.wake()
  }

  async #tidy(): Promise<void> {
    const { store, clock } = this.#settings
    if (clock.monotonic() - this.#tidiedAt < tidyEveryMs) return
    this.#tidiedAt = clock.monotonic()
    for (const [id, lane] of this.#lanes) {
      const isBehind = lane.mayHaveFresh || Number.isFinite(lane.nextDueAt)
      if (!isBehind && lane.settled < settledBetween) continue
      lane.settled = 0
      await store.tidy(id, isBehind)
      // It may have been disabled.
      this.#isStale ||= isBehind
    }
  }

  #restMs(): number {
    const untilWrite = this.#settings.pace.untilWrite()
    if (untilWrite > 0) return Math.max(untilWrite, wokenMs)
    if ([...this.#lanes.values()].some((lane) => lane.isReady)) return pacedRestMs
    const now = this.#settings.clock.now()
    const due = Math.min(...[...this.#lanes.values()].map(({ nextDueAt }) => nextDueAt))
    return Math.min(Math.max(due - now, wokenMs), longestRestMs)
  }
}

const kindOf = ({ isQuick }: Lane): 'quick' | 'slow' => (isQuick ? 'quick' : 'slow')
