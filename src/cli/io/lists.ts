import { stringifyExact } from '../../values/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../values/json.ts'
import { csvPieces } from './csv.ts'
import { type Columns, type Layout, tablePieces } from './table.ts'

/** How a list is printed. All but tables have the fields of --json. */
export type ListFormat = 'table' | 'csv' | 'json' | 'ndjson'

/** Rows of a list that are printed together. The first of them decide the columns of a table and of CSV. */
const rowsPerPiece = 1000

export async function* inPieces<T>(rows: Iterable<T> | AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let some: T[] = []
  for await (const row of rows) {
    some.push(row)
    if (some.length < rowsPerPiece) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

const lines = (source: Iterable<string>): string => [...source].map((line) => `${line}\n`).join('')

export const recordOf = (row: unknown): JsonObject => (isJsonObject(row) ? row : {})

/** The text of each piece, and of the end. An empty table, like empty CSV, has none. */
export async function* listText<T>(
  pieces: AsyncIterable<readonly T[]>,
  format: ListFormat,
  { columns, layout, pick }: { columns: Columns<T>; layout: Layout; pick: (row: T) => unknown },
): AsyncGenerator<string> {
  const table = tablePieces(columns, layout)
  const csv = csvPieces()
  let isFirst = true
  for await (const rows of pieces) {
    const picked = () => rows.map((row) => pick(row))
    if (format === 'table') yield lines(table(rows))
    else if (format === 'csv') yield lines(csv(picked().map(recordOf)))
    else if (format === 'ndjson') yield lines(picked().map((row) => stringifyExact(row)))
    else
      yield `${isFirst ? '[' : ','}${picked()
        .map((row) => stringifyExact(row))
        .join(',')}`
    isFirst = false
  }
  if (format === 'json') yield isFirst ? '[]\n' : ']\n'
}
