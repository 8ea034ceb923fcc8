const windowMs = 100
/** More than this, and the event loop has little time left: then taps come first. */
const manyASecond = 200
const busyShare = 0.9
const triesWhileBusy = 4
/** While taps come, the deliverer's own writes may take a tenth of the disk's time. */
const pausePerWrite = 9
const longestPauseMs = 4000

interface PaceSettings {
  monotonic(): number
  /** The share of time since the last call in which the event loop was busy, from 0 to 1. */
  utilization(): number
}

/** Leaves the processor to taps while they need all of it: messages can wait, and a person with a phone cannot. */
export class Pace {
  readonly #settings: PaceSettings
  #since = Number.NEGATIVE_INFINITY
  #recorded = 0
  #left = Number.POSITIVE_INFINITY
  #sinceWrite = 0
  #writeAt = Number.NEGATIVE_INFINITY

  constructor(settings: PaceSettings) {
    this.#settings = settings
  }

  recorded(): void {
    this.#recorded += 1
    this.#sinceWrite += 1
  }

  /** @returns milliseconds until the next write may begin */
  untilWrite(): number {
    return Math.max(0, this.#writeAt - this.#settings.monotonic())
  }

  async timed<T>(write: () => Promise<T>): Promise<T> {
    const { monotonic } = this.#settings
    const began = monotonic()
    const isAmongTaps = this.#sinceWrite > 1
    this.#sinceWrite = 0
    try {
      return await write()
    } finally {
      const ended = monotonic()
      const pause = Math.min(pausePerWrite * (ended - began), longestPauseMs)
      this.#writeAt = isAmongTaps ? ended + pause : ended
    }
  }

  /** @returns false if no try may begin now */
  take(): boolean {
    const now = this.#settings.monotonic()
    const passed = now - this.#since
    if (passed >= windowMs) {
      const isMany = this.#recorded > (manyASecond * passed) / 1000
      const isBusy = this.#settings.utilization() > busyShare && isMany
      this.#left = isBusy ? triesWhileBusy : Number.POSITIVE_INFINITY
      this.#recorded = 0
      this.#since = now
    }
    if (this.#left <= 0) return false
    this.#left -= 1
    return true
  }
}
