/** Splits streamed text into lines. Skips blank lines. */
export class LineSplitter {
  #rest = ''
  readonly #maxLength: number

  /** @param maxLength a longer line is cut after one character more, so that the caller can recognize it */
  constructor(maxLength = Number.POSITIVE_INFINITY) {
    this.#maxLength = maxLength
  }

  /** Characters of the unfinished line. */
  get pending(): number {
    return this.#rest.length
  }

  /** @returns the lines that end in this piece */
  push(text: string): string[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = (lines.pop() ?? '').slice(0, this.#maxLength + 1)
    return lines.filter((line) => line.trim() !== '')
  }

  /** @returns the last line, if no line break ends it */
  end(): string[] {
    return this.push('\n')
  }
}

export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  const lines = new LineSplitter()
  for await (const text of texts) yield* lines.push(text)
  yield* lines.end()
}
