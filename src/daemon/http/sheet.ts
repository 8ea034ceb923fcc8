import { TextDecoder } from 'node:util'
import { cellsIn, notImported } from '../../values/chip-columns.ts'
import { CsvReader, type CsvRows } from '../../values/csv-reader.ts'
import { tidyCell } from '../../values/invisible.ts'
import { parseObject } from '../../values/json.ts'
import { LineSplitter } from '../../values/line-splitter.ts'
import { DomainError } from '../domain/errors/errors.ts'

/** A parsed row: its non-empty values by column, or why it is invalid. Blank lines are skipped. */
type SheetRow =
  | { readonly values: Readonly<Record<string, string>> }
  | { readonly problem: string /** Set if it could be read. */; readonly uid?: string | undefined }

export interface SheetBlock {
  readonly rows: readonly SheetRow[]
  readonly size: number
}

/** Maximum characters per row. An unclosed quote would otherwise buffer the whole file. */
export const maxRowLength = 64 * 1024

/** Replaces bytes that are not UTF-8. */
export const replacement = '\uFFFD'
const notUtf8 = 'contains bytes that are not UTF-8. Save the file as UTF-8'

const unknownOf = (header: readonly string[], columns: readonly string[]) =>
  header.filter((name) => !columns.includes(name) && !notImported.includes(name))

/** @throws DomainError invalid_input that names the unknown columns */
function assertColumns(header: readonly string[], columns: readonly string[]): void {
  const unknown = unknownOf(header, columns)
  if (unknown.length > 0) {
    const names = unknown.slice(0, 20).map((name) => JSON.stringify(name.slice(0, 64)))
    throw new DomainError(
      'invalid_input',
      `There is no column ${names.join(', ')}. Nothing was written. Columns are ${columns.join(', ')}.`,
    )
  }
  const twice = header.find((name, at) => header.indexOf(name) !== at)
  if (twice !== undefined)
    throw new DomainError('invalid_input', `The column ${twice} appears twice. Nothing was written.`)
}

/** Reads the heading first. @throws DomainError invalid_input */
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
      const heading = first.map((name) => tidyCell(undefined, name))
      assertColumns(heading, columns)
      if (!heading.includes('uid') && !heading.includes('publicKey')) {
        throw new DomainError(
          'invalid_input',
          'The column uid is missing (or publicKey for HaLo chips). The first row names the columns.',
        )
      }
      return blocksOf(
        texts,
        reader,
        {
          heading,
          rows: rows.slice(1),
          malformed,
          size: next.value?.length ?? 0,
        },
        columns,
      )
    }
    if (next.done)
      throw new DomainError('invalid_input', 'The body is empty: send CSV whose first row names the columns.')
    if (reader.pending > maxRowLength)
      throw new DomainError(
        'invalid_input',
        `The first row is over ${maxRowLength} characters. Is a quote never closed?`,
      )
  }
}

async function* blocksOf(
  texts: AsyncGenerator<string>,
  reader: CsvReader,
  begun: CsvRows & { heading: readonly string[]; size: number },
  columns: readonly string[],
): AsyncGenerator<SheetBlock> {
  const asRows = ({ rows, malformed }: CsvRows) =>
    rows.map((cells) => csvRow(cells, begun.heading, columns, malformed.get(cells)))
  let { size } = begun
  let rows = asRows(begun)
  while (reader.pending <= maxRowLength) {
    if (rows.length > 0) yield { rows, size }
    const next = await texts.next()
    rows = asRows(next.done ? reader.end() : reader.push(next.value))
    size = next.value?.length ?? 0
    if (!next.done) continue
    if (rows.length > 0) yield { rows, size }
    return
  }
  rows.push({
    problem: `is over ${maxRowLength} characters: is a quote never closed? Nothing from this row on was read`,
  })
  yield { rows, size }
  // Leaving the body unread would cut the connection, and the answer with it.
  while (!(await texts.next()).done);
}

function csvRow(
  cells: readonly string[],
  heading: readonly string[],
  columns: readonly string[],
  malformed: string | undefined,
): SheetRow {
  const [only] = heading
  const [first = ''] = cells
  // By far the most common sheet has only a column of UIDs.
  if (heading.length === 1 && cells.length === 1 && only !== undefined && malformed === undefined)
    return first.includes(replacement) ? { problem: notUtf8 } : { values: { [only]: tidyCell(only, first) } }
  const uid = cells[heading.indexOf('uid')]
  if (malformed !== undefined) return { problem: `is malformed: ${malformed}`, uid }
  // Spreadsheets leave out empty cells at the end of a row.
  if (cells.slice(heading.length).some((cell) => cell !== ''))
    return { problem: `has ${cells.length} cells, but the first row names ${heading.length} columns`, uid }
  const values: Record<string, string> = {}
  for (const [at, name] of heading.entries()) {
    const cell = tidyCell(name, cells[at] ?? '')
    if (cell.includes(replacement)) return { problem: `${name} ${notUtf8}`, uid }
    if (cell !== '' && columns.includes(name)) values[name] = cell
  }
  return { values }
}

/** @throws DomainError invalid_input if the first row has unknown members */
export async function openJsonLines(
  texts: AsyncGenerator<string>,
  columns: readonly string[],
): Promise<AsyncGenerator<SheetBlock>> {
  const blocks = linesOf(texts)
  const first = await blocks.next()
  if (first.done) throw new DomainError('invalid_input', 'The body is empty: send one JSON object per line.')
  const [row] = first.value.lines
  if (row !== undefined) {
    const value = parseObject(row)
    if (value) assertColumns(Object.keys(value), columns)
  }
  return read(first.value, blocks, columns)
}

interface Lines {
  lines: readonly string[]
  size: number
}

async function* read(
  first: Lines,
  blocks: AsyncGenerator<Lines>,
  columns: readonly string[],
): AsyncGenerator<SheetBlock> {
  yield { rows: first.lines.map((line) => jsonRow(line, columns)), size: first.size }
  for await (const { lines, size } of blocks)
    yield { rows: lines.map((line) => jsonRow(line, columns)), size }
}

/** Skips blank lines, and cuts each line just after its maximum length. */
async function* linesOf(texts: AsyncGenerator<string>): AsyncGenerator<Lines> {
  const splitter = new LineSplitter(maxRowLength)
  for await (const text of texts) {
    const lines = splitter.push(text)
    if (lines.length > 0) yield { lines, size: text.length }
  }
  const lines = splitter.end()
  if (lines.length > 0) yield { lines, size: maxRowLength }
}

function jsonRow(line: string, columns: readonly string[]): SheetRow {
  if (line.length > maxRowLength) return { problem: `is over ${maxRowLength} characters` }
  if (line.includes(replacement)) return { problem: notUtf8 }
  const value = parseObject(line)
  if (!value) return { problem: 'is not a JSON object' }
  const imported = Object.entries(value).filter(([name]) => !notImported.includes(name))
  const read = cellsIn(Object.fromEntries(imported), new Set(columns))
  if ('problem' in read) return read
  const cells = Object.entries(read.cells).flatMap(([name, cell]) =>
    cell ? [[name, tidyCell(name, cell)]] : [],
  )
  return { values: Object.fromEntries(cells) }
}

interface Sheet {
  /** Leaving it early drops the rest of the body. */
  readonly blocks: AsyncIterable<SheetBlock>
  /** Drops the body if `blocks` is never read. */
  drop(): void
}

/**
 * Parses a sheet while it arrives, as CSV or JSON lines by its content type; the body is read no faster than
 * its rows are consumed.
 * @throws DomainError invalid_input if the first row is invalid, unsupported_media_type
 */
export async function openSheet(
  body: AsyncIterable<Uint8Array> | undefined | null,
  contentType: string | undefined,
  columns: readonly string[],
): Promise<Sheet> {
  const open = readerOf(contentType)
  const texts = decoded(body ?? nothing())
  const drop = () => void texts.return(undefined)
  try {
    return { blocks: ending(await open(texts, columns), drop), drop }
  } catch (error) {
    drop()
    throw error
  }
}

async function* ending<T>(items: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* items
  } finally {
    end()
  }
}

function readerOf(contentType: string | undefined) {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === 'text/csv') return openCsv
  if (type === 'application/x-ndjson' || type === 'application/jsonl') return openJsonLines
  throw new DomainError(
    'unsupported_media_type',
    'Send CSV with content-type: text/csv, or JSON lines with content-type: application/x-ndjson.',
  )
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8')
  for await (const chunk of body) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}
