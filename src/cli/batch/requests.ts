/** The daemon takes twice as many. */
const bytesARequest = 32 * 1024 * 1024

/** One write per row would cost more than the rows. */
const charactersAPiece = 64 * 1024

export interface RowsRequest<R> {
  readonly rows: readonly R[]
  readonly content: readonly Buffer[]
}

/** As few requests as the daemon takes: each one costs a round trip. */
export function* requestsOf<R>(
  rows: readonly R[],
  lineOf: (row: R) => string,
): Generator<RowsRequest<R>, void> {
  let content: Buffer[] = []
  let text = ''
  let size = 0
  let from = 0
  for (const [at, row] of rows.entries()) {
    text += lineOf(row)
    const isLast = at === rows.length - 1
    if (text.length >= charactersAPiece || isLast) {
      const piece = Buffer.from(text)
      content.push(piece)
      size += piece.length
      text = ''
    }
    if (size < bytesARequest && !isLast) continue
    yield { rows: rows.slice(from, at + 1), content }
    content = []
    size = 0
    from = at + 1
  }
}
