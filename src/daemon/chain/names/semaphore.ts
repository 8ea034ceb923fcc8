export interface Bounds {
  atOnce: number
  atOncePerKey: number
  /** How many more wait for their turn. */
  waiting: number
  waitingPerKey: number
  /** How long at most. */
  waitMs: number
}

interface Waiting {
  key: string
  begin(): void
}

/** A counting semaphore in which no key has more than its share, neither of the places nor of the queue. */
export class Semaphore {
  readonly #bounds: Bounds
  readonly #turnAway: () => Error
  readonly #running = new Map<string, number>()
  #count = 0
  #waiting: Waiting[] = []

  /** @param turnAway made for whoever finds it full, or has waited long enough */
  constructor(bounds: Bounds, turnAway: () => Error) {
    this.#bounds = bounds
    this.#turnAway = turnAway
  }

  async run<T>(key: string, job: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(key)) this.#take(key)
    else await this.#turn(key)
    try {
      return await job()
    } finally {
      this.#giveBack(key)
    }
  }

  #hasRoom(key: string): boolean {
    return this.#count < this.#bounds.atOnce && (this.#running.get(key) ?? 0) < this.#bounds.atOncePerKey
  }

  #take(key: string): void {
    this.#count += 1
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1)
  }

  /** Resolves once a place was taken. */
  #turn(key: string): Promise<void> {
    const { waiting, waitingPerKey, waitMs } = this.#bounds
    const ofKey = this.#waiting.filter((other) => other.key === key).length
    if (this.#waiting.length >= waiting || ofKey >= waitingPerKey) throw this.#turnAway()
    return new Promise((resolve, reject) => {
      const impatient = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== mine)
        reject(this.#turnAway())
      }, waitMs)
      const mine: Waiting = {
        key,
        begin: () => {
          clearTimeout(impatient)
          resolve()
        },
      }
      this.#waiting.push(mine)
    })
  }

  #giveBack(key: string): void {
    const left = (this.#running.get(key) ?? 0) - 1
    if (left > 0) this.#running.set(key, left)
    else this.#running.delete(key)
    this.#count -= 1
    const at = this.#waiting.findIndex((other) => this.#hasRoom(other.key))
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (next === undefined) return
    this.#take(next.key)
    next.begin()
  }
}
