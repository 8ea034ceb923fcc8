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
