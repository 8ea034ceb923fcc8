import { tidyCell } from '../../../values/invisible.ts'
import {
  ExactNumber,
  isJsonObject,
  type JsonObject,
  parseExact,
  stringifyExact,
} from '../../../values/json.ts'
import { linesOf } from '../../../values/line-splitter.ts'
import { UsageError } from '../../errors.ts'
import { type Delimiter, unguardCell } from '../../io/lists.ts'
import { counted } from '../../io/text.ts'
import { type ColumnOptions, csvRows, isIgnored, layOut, unknownColumns } from './columns.ts'
import type { Problems } from './problems.ts'
import type { Source } from './source.ts'

export const inputFormats = ['csv', 'json', 'jsonl'] as const
export type InputFormat = (typeof inputFormats)[number]

/** Tidy text; null for a JSON null; undefined if the cell is missing. */
export type Cell = string | null | undefined

export interface SheetOptions extends ColumnOptions {
  readonly format: InputFormat | undefined
  /** Columns whose JSON may be an object or a boolean: they are passed on as JSON text. */
  readonly structured?: ReadonlySet<string>
}

export interface SheetReader {
  /** Called once, before the first row, with the indexes of our columns that the sheet has. */
  readonly columns?: (present: readonly number[]) => void
  readonly row: (row: number, cells: readonly Cell[]) => void
  /** The heading of a CSV sheet as it is. */
  readonly heading?: (names: readonly string[], delimiter: Delimiter) => void
  /** Each row as it is, before `row`: its cells under the heading, or its JSON. */
  readonly original?: (row: number, value: readonly string[] | JsonObject) => void
}

/** Calls the reader with each row, and adds rows that cannot be parsed to `problems`. */
export const readSheet = async (
  source: Source,
  options: SheetOptions,
  problems: Problems,
  reader: SheetReader,
): Promise<void> => {
  const { format, chunks } = await formatOf(source, options.format)
  if (format === 'csv') await readCsv(chunks, options, problems, reader)
  else await readJson(chunks, format, options, problems, reader)
}

const byExtension: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
}

/** The format that was given, else by the extension, else by the first character. */
const formatOf = async (source: Source, declared: InputFormat | undefined) => {
  let head = ''
  while (head.trim() === '') {
    const next = await source.chunks.next()
    if (next.done) break
    head += next.value
  }
  async function* chunks() {
    yield head
    yield* source.chunks
  }
  const first = head.trimStart()[0]
  const sniffed: InputFormat = first === '[' ? 'json' : first === '{' ? 'jsonl' : 'csv'
  // A .json file holds an array or JSON lines; only its first character shows which.
  const format =
    declared ??
    byExtension[source.extension] ??
    (source.extension === '.json' && sniffed === 'csv' ? 'json' : sniffed)
  if (first === undefined && format !== 'jsonl')
    throw new UsageError(`${source.name} is empty. Nothing was written.`)
  return { format, chunks: chunks() }
}

const readCsv = async (
  chunks: AsyncIterable<string>,
  options: SheetOptions,
  problems: Problems,
  reader: SheetReader,
) => {
  let present: readonly { column: number; position: number }[] = []
  let positions: readonly number[] | undefined
  let width: number | undefined
  let row = 0
  for await (const { rows, malformed, delimiter } of csvRows(chunks)) {
    for (const cells of rows) {
      if (width === undefined) {
        reader.heading?.(cells, delimiter)
        positions = layOut(cells, options, problems)
        width = cells.length
        present = (positions ?? []).flatMap((position, column) => (position < 0 ? [] : { column, position }))
        reader.columns?.(present.map(({ column }) => column))
        continue
      }
      row += 1
      const why = malformed.get(cells)
      if (why !== undefined) problems.add(row, undefined, `malformed: ${why}`)
      else if (cells.slice(width).some((cell) => cell !== '')) {
        problems.add(
          row,
          undefined,
          `malformed: ${counted(cells.length, 'field')} where the heading has ${width}; a value that contains the separator needs quotes`,
        )
      } else if (positions) {
        const read = new Array<Cell>(options.columns.length)
        for (const { column, position } of present)
          read[column] = readCell(options.columns[column], cells[position])
        reader.original?.(row, cells)
        reader.row(row, read)
      }
    }
  }
}

// Spreadsheets leave out empty cells at the end of a row, and not in every row.
const readCell = (column: string | undefined, cell: string | undefined): Cell =>
  cell === undefined ? undefined : unguardCell(tidyCell(column, cell))

const readJson = async (
  chunks: AsyncIterable<string>,
  format: 'json' | 'jsonl',
  options: SheetOptions,
  problems: Problems,
  reader: SheetReader,
) => {
  reader.columns?.(options.columns.map((_, i) => i))
  const originalNames = options.columns.map((column) => options.renamed.get(column) ?? column)
  const known = new Set(originalNames)
  let row = 0
  for await (const { value, malformed } of jsonRows(chunks, format)) {
    row += 1
    if (malformed !== undefined || value === undefined) {
      problems.add(row, undefined, `malformed: ${malformed}`)
      continue
    }
    const unknown = Object.keys(value).filter((name) => !known.has(name) && !isIgnored(name, options))
    if (unknown.length > 0) problems.add(row, undefined, unknownColumns(unknown, options))
    reader.original?.(row, value)
    reader.row(
      row,
      originalNames.map((name, i) => {
        const column = options.columns[i]
        const inner = value[name]
        const isStructured =
          column !== undefined && options.structured?.has(column) && /object|boolean/.test(typeof inner)
        const cell = isStructured && inner !== null ? stringifyExact(inner) : inner
        return jsonCell(cell, row, column, problems)
      }),
    )
  }
}

const jsonCell = (value: unknown, row: number, column: string | undefined, problems: Problems): Cell => {
  if (value === null || value === undefined) return value
  if (typeof value === 'string') return tidyCell(column, value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  const why =
    typeof value === 'number' || value instanceof ExactNumber
      ? 'is a number that JSON cannot represent exactly: put it in quotes'
      : 'must be text'
  problems.add(row, column, why)
  return undefined
}

interface JsonRow {
  readonly value: JsonObject | undefined
  readonly malformed: string | undefined
}

const toRow = (value: unknown): JsonRow =>
  isJsonObject(value)
    ? { value, malformed: undefined }
    : { value: undefined, malformed: 'a row must be an object' }

const parseRow = (text: string): JsonRow => {
  try {
    return toRow(parseExact(text))
  } catch (error) {
    return { value: undefined, malformed: error instanceof Error ? error.message : 'not JSON' }
  }
}

/** Rows of a JSON array or of JSON lines, without blank lines. */
async function* jsonRows(chunks: AsyncIterable<string>, format: 'json' | 'jsonl'): AsyncGenerator<JsonRow> {
  if (format === 'json') yield* rowsOfArray(await gather(chunks))
  else for await (const line of linesOf(chunks)) yield parseRow(line)
}

const gather = async (chunks: AsyncIterable<string>): Promise<string> => {
  const pieces: string[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return pieces.join('')
}

const rowsOfArray = (text: string): JsonRow[] => {
  let value: unknown
  try {
    value = parseExact(text)
  } catch (error) {
    throw new UsageError(
      `The input is not JSON: ${error instanceof Error ? error.message : error}. Nothing was written.`,
    )
  }
  // A single object is a batch of one row.
  return (Array.isArray(value) ? value : [value]).map(toRow)
}
