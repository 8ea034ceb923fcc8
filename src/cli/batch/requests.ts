/** The daemon takes twice as many. */
const bytesARequest = 32 * 1024 * 1024

/** One write per row would cost more than the rows. */
const charactersAPiece = 64 * 1024

export interface RowsRequest<R> {
  /** What the daemon's answers count from 1. It ends with the last row that was sent: read it after the answers. */
  readonly rows: SentRows<R>
  /** The rows become text while they are sent: all of a sheet at once would take as much memory as the sheet. */
  readonly content: Iterable<Buffer>
}

/** Some of the rows, without a copy of them. */
export interface SentRows<R> {
  readonly length: number
  at(index: number): R | undefined
}

/** As few requests as the daemon takes: each one costs a round trip. A request must be sent before the next is made. */
export function* requestsOf<R>(
  rows: readonly R[],
  lineOf: (row: R) => string,
): Generator<RowsRequest<R>, void> {
  let to = 0
  while (to < rows.length) {
    const from = to
    // Until the content is read, all of them: an answer to nothing is cut short.
    to = rows.length
    yield {
      rows: {
        get length() {
          return to - from
        },
        at: (index) => rows[from + index],
      },
      // Read from its start again where the request is repeated.
      content: {
        *[Symbol.iterator]() {
          let text = ''
          let size = 0
          for (to = from; to < rows.length && size < bytesARequest; ) {
            const row = rows[to]
            to += 1
            if (row !== undefined) text += lineOf(row)
            if (text.length < charactersAPiece && to < rows.length) continue
            const piece = Buffer.from(text)
            size += piece.length
            text = ''
            yield piece
          }
        },
      },
    }
  }
}
