/** One limit for all the steps of a job. */
export class Deadline {
  readonly #timer: NodeJS.Timeout
  readonly #reached: Promise<never>
  #fail: (error: Error) => void = () => undefined

  constructor(ms: number, error: () => Error) {
    this.#reached = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    // Nobody may be waiting when it is reached.
    this.#reached.catch(() => undefined)
    this.#timer = setTimeout(() => this.#fail(error()), ms)
  }

  /** A step's outcome, or the deadline's error if that is first. The step itself goes on. */
  race<T>(step: Promise<T>): Promise<T> {
    step.catch(() => undefined)
    return Promise.race([step, this.#reached])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
