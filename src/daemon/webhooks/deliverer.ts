import { BackgroundLoop } from '../../values/background-loop.ts'
import type { Claimed, DeliveryStore } from './delivery-store.ts'
import { type Job, type Lane, lanesOf } from './lane.ts'
import type { Pace } from './pace.ts'
import { Taken } from './places.ts'
import { attempt, type Result, type TryDeps } from './try.ts'

interface DelivererSettings extends TryDeps {
  store: DeliveryStore
  failed(error: unknown): void
  pace: Pace
  /** Absent: no other daemon uses the database. */
  election?: { readonly isLeader: boolean; check(): Promise<boolean> }
}

/** A receiver that takes longer counts as slow. */
const quickMs = 1000
const wokenMs = 20
const longestRestMs = 30_000
/** After a run that failed, for example because the disk is full. */
const failedRestMs = 3000
/** The clock drifts by less. */
const setBackMs = 10_000
/** While pace or places hold tries back. */
const pacedRestMs = 50
const tidyEveryMs = 2000
/** Settled deliveries of a webhook between two deletions. */
const settledBetween = 500
const lastTriesMs = 2000
/** Other daemons wake nobody here, so what they record is looked for. */
const lookMs = 300

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
  #isFailing = false
  /** How far the machine's clock is ahead of the one that never goes back. */
  #ahead = Number.NEGATIVE_INFINITY

  constructor(settings: DelivererSettings) {
    this.#settings = settings
    this.#loop = new BackgroundLoop({
      run: () => this.#work(),
      restMs: () => (this.#isFailing ? failedRestMs : this.#restMs()),
      wokenMs: () => (this.#isFailing ? failedRestMs : wokenMs),
      failed: (error) => {
        // Only the first of a row: a log may be on the disk that is full.
        if (!this.#isFailing) settings.failed(error)
        this.#isFailing = true
      },
    })
  }

  start = (): void => this.#loop.start()
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

  /** Webhooks were created, changed, or removed. @param isNewTurn others may have delivered what is queued here */
  changed(isNewTurn = false): void {
    if (isNewTurn) this.#forget()
    this.#isStale = true
    this.#loop.wake()
  }

  /** Tries a claimed message at once, whatever else waits. */
  async tryNow(id: number): Promise<void> {
    const { store } = this.#settings
    const job = await store.claimed(id)
    const target = job && (await store.targets()).find((one) => one.id === job.webhookId)
    if (!job || !target) return
    const lane = this.#lanes.get(target.id)
    lane?.hold(id)
    const [result] = await attempt(this.#settings, job, target)
    lane?.letGo(id)
    this.#results.push(result)
    await this.#exchange([])
    this.changed()
  }

  async #work(): Promise<void> {
    const { store, clock } = this.#settings
    if ((await this.#settings.election?.check()) === false) return this.#standBy()
    if (!this.#isReleased) {
      await store.releaseAll()
      this.#isReleased = true
    }
    await this.#noticeSetBack()
    if (this.#isStale) await this.#reload()
    if (this.#settings.election) for (const id of await store.withWork()) this.#lanes.get(id)?.lookAgain()
    const now = clock.now()
    const wanted = [...this.#lanes].flatMap(([webhookId, lane]) => {
      const limit = lane.room(now)
      return limit === 0 ? [] : [{ webhookId, limit }]
    })
    const isWriting = this.#settings.pace.untilWrite() === 0
    if (isWriting && (wanted.length > 0 || this.#results.length > 0)) await this.#exchange(wanted)
    this.#startTries()
    await this.#tidy()
    this.#isFailing = false
  }

  get #isLeader(): boolean {
    return this.#settings.election?.isLeader ?? true
  }

  #forget(): void {
    this.#isReleased = false
    this.#lanes = new Map()
    this.#isStale = true
  }

  /** Another daemon delivers. It has freed what was claimed here. */
  async #standBy(): Promise<void> {
    this.#forget()
    if (this.#results.length > 0) await this.#exchange([])
    this.#isFailing = false
  }

  async #noticeSetBack(): Promise<void> {
    const { store, clock } = this.#settings
    const ahead = clock.now() - clock.monotonic()
    if (ahead < this.#ahead - setBackMs) {
      for (const result of this.#results) if (result.dueAt !== null) result.dueAt = clock.now()
      await store.hasten()
      for (const lane of this.#lanes.values()) lane.lookAgain()
    }
    this.#ahead = ahead
  }

  async #reload(): Promise<void> {
    // Before the read: what changes during it is read again.
    this.#isStale = false
    const targets = await this.#settings.store.targets().catch((error) => {
      this.#isStale = true
      throw error
    })
    this.#lanes = lanesOf(targets, this.#lanes)
  }

  async #exchange(wanted: readonly { webhookId: number; limit: number }[]): Promise<void> {
    const results = this.#results
    this.#results = []
    // Before the write: what is recorded during it is looked for again.
    for (const { webhookId } of wanted) this.#lanes.get(webhookId)?.look()
    let claimed: readonly Claimed[]
    try {
      const { pace, store } = this.#settings
      claimed = await pace.timed(() => store.exchange(results, wanted))
    } catch (error) {
      this.#results.unshift(...results)
      for (const { webhookId } of wanted) this.#lanes.get(webhookId)?.lookAgain()
      throw error
    }
    for (const one of claimed) this.#lanes.get(one.webhookId)?.found(one)
  }

  /** In turn, so that a webhook with many messages does not keep others waiting. */
  #startTries(): void {
    // URLs that changed are read first.
    if (this.#loop.isEnding || this.#isStale || !this.#isLeader) return
    const { pace } = this.#settings
    const lanes = [...this.#lanes.values()]
    const taken = new Taken(lanes)
    for (let isProgress = true; isProgress; ) {
      isProgress = false
      for (const lane of lanes) {
        if (!lane.isReady || !taken.isRoom(lane)) continue
        if (!pace.take()) return
        const job = lane.take()
        if (!job) continue
        taken.add(lane, 1)
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
    const { clock, store, failed } = this.#settings
    const { target } = lane
    const slow = setTimeout(() => {
      if (lane.kind === 'quick') lane.kind = 'slow'
      this.#loop.wake()
    }, quickMs)
    const began = clock.monotonic()
    const [result, isGone] = await attempt(this.#settings, job, target)
    clearTimeout(slow)
    lane.ended(job)
    lane.judge(result, clock.monotonic() - began < quickMs)
    this.#results.push(result)
    // An answer to an earlier URL, or from before it was enabled again, says nothing about this one.
    const isCurrent = this.#lanes.get(target.id) === lane && lane.target.url === target.url && !this.#isStale
    if (isGone && isCurrent && !lane.isClosed) {
      lane.isClosed = true
      await store.disable(target, 'the receiver answered 410 Gone').then(() => lane.clear(), failed)
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
      if (await store.tidy(id, isBehind)) this.#isStale = true
    }
  }

  #restMs(): number {
    const most = this.#settings.election ? lookMs : longestRestMs
    const untilWrite = this.#settings.pace.untilWrite()
    if (untilWrite > 0) return Math.max(untilWrite, wokenMs)
    if ([...this.#lanes.values()].some((lane) => lane.isReady)) return pacedRestMs
    const now = this.#settings.clock.now()
    const due = Math.min(...[...this.#lanes.values()].map(({ nextDueAt }) => nextDueAt))
    return Math.min(Math.max(due - now, wokenMs), most)
  }
}
