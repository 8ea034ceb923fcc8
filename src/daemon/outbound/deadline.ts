export class Deadline {
  readonly #timer: NodeJS.Timeout
  readonly #reached: Promise<never>
  #fail: (error: Error) => void = () => undefined

  constructor(ms: number, error: () => Error) {
    this.#reached = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    // Prevents an unhandled rejection if no step is waiting.
    this.#reached.catch(() => undefined)
    this.#timer = setTimeout(() => this.#fail(error()), ms)
  }

  /**
   * Returns the step's result, or throws the deadline's error if that comes first. The step itself continues.
   */
  race<T>(step: Promise<T>): Promise<T> {
    step.catch(() => undefined)
    return Promise.race([step, this.#reached])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
