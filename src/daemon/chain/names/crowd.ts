/** Lets so many jobs run at once, and so many wait for their turn. */
export class Crowd {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #turnAway: () => Error
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** @param turnAway made for whoever finds it full */
  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }, turnAway: () => Error) {
    this.#atOnce = atOnce
    this.#mostWaiting = waiting
    this.#turnAway = turnAway
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1
    else {
      if (this.#waiting.length >= this.#mostWaiting) throw this.#turnAway()
      // Whoever is done hands its place over.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    try {
      return await job()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}
