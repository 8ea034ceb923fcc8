import { CsvReader } from '../../../values/csv-reader.ts'
import type { Result, Row } from '../journal.ts'
import type { History } from '../kind.ts'
import { slicesOf } from './import-sheet.ts'

export interface ImportResult extends Result {
  readonly uid: string
}

/** Lines end in slices of this many, so that no line of a journal becomes too long for those who read it. */
const linesAPiece = 100

/** The sheet in pieces, for the journal. */
export const piecesOf = (blocks: readonly Buffer[]): string[] =>
  [...slicesOf(blocks, linesAPiece)].map(({ bytes }) => bytes.toString('utf8'))

/** The rows of a sheet in pieces: each with its UID as it was sent, empty if the row has none. */
function* rowsOfPieces(pieces: readonly string[]): Generator<{ row: number; uid: string }> {
  const reader = new CsvReader()
  let uidAt: number | undefined
  let row = 0
  for (const piece of pieces)
    for (const cells of reader.push(piece).rows) {
      if (uidAt === undefined) uidAt = cells.indexOf('uid')
      else yield { row: ++row, uid: cells[uidAt] ?? '' }
    }
}

type Outcome = Omit<ImportResult, 'status'> & { readonly status: ImportResult['status'] | 'pending' }

/** Each row. What was not reported otherwise was created, once the import is done. */
export function* resultsOf({
  results,
  sheet,
  status: state,
}: History<Row, ImportResult>): Generator<Outcome> {
  if (sheet === undefined) yield* results.values()
  else
    for (const { row, uid } of rowsOfPieces(sheet))
      yield results.get(row) ?? { row, uid, status: state === 'done' ? 'created' : 'pending' }
}
