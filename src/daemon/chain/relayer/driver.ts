import type { DriverPace, SenderStatus } from './sender.ts'

/** What is driven: a SenderLoop. */
export interface Ticking {
  readonly status: SenderStatus
  tick(): Promise<SenderStatus>
}

/** Calls later, and can be told not to. */
export type Schedule = (job: () => void, ms: number) => () => unknown

/** A timer that keeps no process alive. */
export const systemSchedule: Schedule = (job, ms) => {
  const timer = setTimeout(job, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Ticks a loop for as long as the daemon runs: often while there is work, seldom while there is none. */
export class Driver {
  readonly #loop: Ticking
  readonly #pace: DriverPace
  readonly #schedule: Schedule
  #cancel: (() => unknown) | undefined
  #ticking: Promise<void> | undefined
  #woken = false
  #failures = 0
  #stopped = true

  constructor(loop: Ticking, pace: DriverPace, schedule: Schedule) {
    this.#loop = loop
    this.#pace = pace
    this.#schedule = schedule
  }

  start(): void {
    this.#stopped = false
    this.#run()
  }

  /** There is something to do, now. A node that is down is not asked at every request: it has its own pace. */
  wake(): void {
    this.#woken = true
    if (this.#failures === 0) this.#run()
  }

  #run(): void {
    if (this.#stopped || this.#ticking) return
    this.#cancel?.()
    this.#ticking = this.#tick().finally(() => {
      this.#ticking = undefined
      this.#rest()
    })
  }

  async #tick(): Promise<void> {
    this.#woken = false
    const { trouble } = await this.#loop.tick()
    this.#failures = trouble === undefined ? 0 : this.#failures + 1
  }

  #rest(): void {
    if (this.#stopped) return
    const { busyMs, idleMs, maxBackoffMs } = this.#pace
    const { unsettled } = this.#loop.status
    const backoff = Math.min(busyMs * 2 ** this.#failures, Math.max(maxBackoffMs, busyMs))
    const ms = this.#failures > 0 ? backoff : unsettled > 0 ? busyMs : idleMs
    if (this.#woken && this.#failures === 0) this.#run()
    else this.#cancel = this.#schedule(() => this.#run(), ms)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#ticking
  }
}
