import { CsvReader, type CsvRows } from '../../values/csv-reader.ts'
import { DomainError } from '../domain/errors.ts'
import {
  assertColumns,
  longestRow,
  notUtf8,
  replacement,
  type SheetBlock,
  type SheetRow,
} from './sheet-row.ts'

/** The heading first. @throws DomainError invalid_input */
export async function openCsv(
  texts: AsyncGenerator<string>,
  columns: readonly string[],
): Promise<AsyncGenerator<SheetBlock>> {
  const reader = new CsvReader()
  for (;;) {
    const next = await texts.next()
    const { rows, malformed } = next.done ? reader.end() : reader.push(next.value)
    const [first] = rows
    if (first) {
      const heading = first.map((name) => name.trim())
      assertColumns(heading, columns)
      if (!heading.includes('uid') && !heading.includes('publicKey')) {
        throw new DomainError(
          'invalid_input',
          'The column uid is missing (or publicKey, of HaLo chips). The first row names the columns.',
        )
      }
      return blocksOf(texts, reader, {
        heading,
        rows: rows.slice(1),
        malformed,
        size: next.value?.length ?? 0,
      })
    }
    if (next.done)
      throw new DomainError('invalid_input', 'The body is empty: send CSV whose first row names the columns.')
    if (reader.pending > longestRow)
      throw new DomainError(
        'invalid_input',
        `The first row is over ${longestRow} characters. Is a quote opened and never closed?`,
      )
  }
}

/** @param begun what came with the heading */
async function* blocksOf(
  texts: AsyncGenerator<string>,
  reader: CsvReader,
  begun: CsvRows & { heading: readonly string[]; size: number },
): AsyncGenerator<SheetBlock> {
  const asRows = ({ rows, malformed }: CsvRows) =>
    rows.map((cells) => rowOf(cells, begun.heading, malformed.get(cells)))
  let { size } = begun
  let rows = asRows(begun)
  while (reader.pending <= longestRow) {
    if (rows.length > 0) yield { rows, size }
    const next = await texts.next()
    rows = asRows(next.done ? reader.end() : reader.push(next.value))
    size = next.value?.length ?? 0
    if (!next.done) continue
    if (rows.length > 0) yield { rows, size }
    return
  }
  rows.push({
    problem: `is over ${longestRow} characters: is a quote opened and never closed? Nothing from this row on was read`,
  })
  yield { rows, size }
  // Leaving the body unread would cut the connection, and the answer with it.
  while (!(await texts.next()).done);
}

function rowOf(
  cells: readonly string[],
  heading: readonly string[],
  malformed: string | undefined,
): SheetRow {
  const [only] = heading
  const [first = ''] = cells
  // By far the most frequent sheet has a column of UIDs and nothing else.
  if (heading.length === 1 && cells.length === 1 && only !== undefined && malformed === undefined)
    return first.includes(replacement) ? { problem: notUtf8 } : { values: { [only]: first } }
  const uid = cells[heading.indexOf('uid')]
  if (malformed !== undefined) return { problem: `is malformed: ${malformed}`, uid }
  if (cells.length !== heading.length) {
    return { problem: `has ${cells.length} cells where the first row names ${heading.length} columns`, uid }
  }
  const values: Record<string, string> = {}
  for (const [at, name] of heading.entries()) {
    const cell = cells[at] ?? ''
    if (cell.includes(replacement)) return { problem: `${name} ${notUtf8}`, uid }
    if (cell !== '') values[name] = cell
  }
  return { values }
}
