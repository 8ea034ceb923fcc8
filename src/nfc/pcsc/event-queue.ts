/** What is put in is taken out in order by one reader, who waits while there is nothing. */
export class EventQueue<T> {
  readonly #waiting: T[] = []
  #wake: () => void = () => undefined
  #ended = false

  push(item: T): void {
    this.#waiting.push(item)
    this.#wake()
  }

  /** What was put in before is still given. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  async *items(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#ended) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
