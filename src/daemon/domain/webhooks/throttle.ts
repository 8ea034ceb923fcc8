const windowMs = 100
/** Events per second. With more, and an event loop that has little time left, taps come first. */
const manyEvents = 200
const busyShare = 0.9
/** Between two attempts while taps come first. */
const busyPauseMs = 25

interface Settings {
  monotonic(): number
  /** The share of time since the last call in which the event loop was busy, from 0 to 1. */
  utilization(): number
}

/** Yields the processor to taps while they need all of it: messages can wait, and a person with a phone cannot. */
export class Throttle {
  readonly #settings: Settings
  #recorded = 0
  #isBusy = false
  #sampledAt = Number.NEGATIVE_INFINITY
  #nextAt = 0

  constructor(settings: Settings = { monotonic: () => performance.now(), utilization: eventLoopShare() }) {
    this.#settings = settings
  }

  /** An event was recorded for webhooks. */
  recorded(): void {
    this.#recorded += 1
  }

  /** @returns delay before the next try, in milliseconds */
  delayMs(): number {
    const now = this.#settings.monotonic()
    const passed = now - this.#sampledAt
    if (passed >= windowMs) {
      const share = this.#settings.utilization()
      this.#isBusy = share > busyShare && this.#recorded > (manyEvents * passed) / 1000
      this.#recorded = 0
      this.#sampledAt = now
    }
    this.#nextAt = this.#isBusy ? Math.max(this.#nextAt + busyPauseMs, now) : now
    return this.#nextAt - now
  }
}

function eventLoopShare(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const before = last
    last = performance.eventLoopUtilization()
    return performance.eventLoopUtilization(last, before).utilization
  }
}
