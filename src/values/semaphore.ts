/** An absent limit means none. */
export interface SemaphoreLimits {
  concurrency?: number
  concurrencyPerKey: number
  waiting?: number
  waitingPerKey: number
  /** In milliseconds. */
  waitMs: number
}

interface Waiter {
  readonly key: string
  begin(): void
}

/** A counting semaphore in which no key holds more than its share of the permits, or of the queue for them. */
export class Semaphore {
  readonly #limits: SemaphoreLimits
  #inUse = 0
  readonly #inUseByKey = new Map<string, number>()
  readonly #waitingByKey = new Map<string, number>()
  readonly #waiting = new Set<Waiter>()

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits
  }

  /**
   * @param onResult called once, now or later: false if the queue is full or the wait was too long
   * @returns a function to call in the end in any case: it gives the permit back, or leaves the queue
   */
  acquire(key: string, onResult: (isGranted: boolean) => void): () => void {
    const { waiting = Number.POSITIVE_INFINITY, waitingPerKey, waitMs } = this.#limits
    let isHeld = false
    const grant = () => {
      isHeld = true
      this.#inUse += 1
      add(this.#inUseByKey, key, 1)
      onResult(true)
    }
    const release = () => {
      if (!isHeld) return
      isHeld = false
      this.#inUse -= 1
      add(this.#inUseByKey, key, -1)
      this.#beginNext()
    }
    if (this.#hasRoom(key)) {
      grant()
      return release
    }
    if (this.#waiting.size >= waiting || (this.#waitingByKey.get(key) ?? 0) >= waitingPerKey) {
      onResult(false)
      return release
    }
    const stopWaiting = () => {
      clearTimeout(timer)
      if (this.#waiting.delete(waiter)) add(this.#waitingByKey, key, -1)
    }
    const waiter: Waiter = {
      key,
      begin: () => {
        stopWaiting()
        grant()
      },
    }
    const timer = setTimeout(() => {
      stopWaiting()
      onResult(false)
    }, waitMs)
    this.#waiting.add(waiter)
    add(this.#waitingByKey, key, 1)
    return () => {
      stopWaiting()
      release()
    }
  }

  /** Runs a job while holding a permit. @throws what `refusal` returns if no permit is free in time */
  async run<T>(key: string, job: () => Promise<T>, refusal: () => Error): Promise<T> {
    let release = () => {}
    await new Promise<void>((resolve, reject) => {
      release = this.acquire(key, (isGranted) => (isGranted ? resolve() : reject(refusal())))
    })
    try {
      return await job()
    } finally {
      release()
    }
  }

  #hasRoom(key: string): boolean {
    const { concurrency = Number.POSITIVE_INFINITY, concurrencyPerKey } = this.#limits
    return this.#inUse < concurrency && (this.#inUseByKey.get(key) ?? 0) < concurrencyPerKey
  }

  #beginNext(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.key)) continue
      waiter.begin()
      return
    }
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/** Runs jobs with the same key one after another, in order. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Waits for the jobs that were added until now. */
  async before(key: string): Promise<void> {
    await this.#last.get(key)
  }

  async run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = before.then(job)
    const ended = mine.catch(() => undefined)
    this.#last.set(key, ended)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}
