import { isJsonObject, type JsonObject, stringifyExact } from '../../values/json.ts'
import { UsageError } from '../errors.ts'
import { colons } from '../uid.ts'
import { shown, widthOf } from './text.ts'

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

// A spreadsheet runs a cell that begins with = + - or @ as a formula, or with one of their fullwidth forms (OWASP, "CSV
// Injection"). CSV that we write puts an apostrophe before such a cell, and CSV that we read removes one, so a round
// trip changes nothing. A cell that already begins with apostrophes and such a character gets one more.

const formula = /^'*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r]/
const guarded = /^'+[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r]/

export const guardCell = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
export const unguardCell = (cell: string): string =>
  cell.charCodeAt(0) === 39 && guarded.test(cell) ? cell.slice(1) : cell

const special = { ',': /[",\r\n]/, ';': /[";\r\n]/, '\t': /["\t\r\n]/ } as const
export type Delimiter = keyof typeof special

const csvLine = (cells: readonly string[], delimiter: Delimiter = ','): string =>
  `${cells
    .map((cell) => (special[delimiter].test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(delimiter)}\n`

export const sheetLine = (cells: readonly string[], delimiter?: Delimiter): string =>
  csvLine(cells.map(guardCell), delimiter)

/** Records as CSV, whose heading is of the first ones. UIDs are in hex, because spreadsheets keep 15 of their 16 digits. */
export const csvPieces = () => {
  let names: readonly string[] | undefined
  return function* (records: readonly JsonObject[]): Generator<string> {
    const isFirst = names === undefined
    const heading = names ?? [...new Set(records.flatMap((record) => Object.keys(record)))]
    names = heading
    if (isFirst) yield csvLine(heading).trimEnd()
    for (const record of records) yield csvLine(heading.map((name) => cellOf(name, record[name]))).trimEnd()
  }
}

const cellOf = (name: string, value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') return stringifyExact(value)
  if (typeof value !== 'string') return String(value)
  return guardCell(name === 'uid' && value !== '' ? colons(value) : value)
}

export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>

interface Layout {
  readonly aligned: boolean
  readonly heading: (text: string) => string
  readonly cell: (text: string) => string
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/**
 * A table whose rows come in pieces: the first one decides its columns, and a later one may widen them. On a terminal the
 * columns are aligned; elsewhere they are separated by tabs and never truncated, so that cut and grep get the same
 * whatever else the table contains.
 */
const tablePieces = <T>(columns: Columns<T>, layout: Layout) => {
  const readers = Object.values(columns)
  let names = Object.keys(columns)
  let kept: readonly boolean[] | undefined
  let widths = names.map(widthOf)
  return function* (rows: readonly T[]): Generator<string> {
    const isFirst = kept === undefined
    if (!layout.aligned) {
      if (isFirst) yield names.join('\t')
      kept = []
      for (const row of rows) yield readers.map((read) => shown(read(row))).join('\t')
      return
    }
    const all = rows.map((row) => readers.map((read) => layout.cell(shown(read(row)))))
    const chosen =
      kept ?? names.map((name, i) => name !== sameForAll || new Set(all.map((row) => row[i])).size > 1)
    const cells = all.map((row) => row.filter((_, i) => chosen[i]))
    if (isFirst) {
      names = names.filter((_, i) => chosen[i])
      widths = names.map(widthOf)
    }
    kept = chosen
    widths = widths.map((width, i) => cells.reduce((w, row) => Math.max(w, widthOf(row[i] ?? '')), width))
    const line = (row: readonly string[]) =>
      row
        .map((cell, i) => pad(cell, widths[i] ?? 0))
        .join('  ')
        .trimEnd()
    if (isFirst) yield layout.heading(line(names))
    for (const row of cells) yield line(row)
  }
}

/** Omitted if all rows belong to one team. */
const sameForAll = 'TEAM'

export function* fieldLines(fields: Readonly<Record<string, unknown>>, heading: (text: string) => string) {
  const width = Math.max(...Object.keys(fields).map(widthOf))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${heading(pad(`${name}:`, width + 1))} ${shown(value)}`
  }
}

/** The UID in hex is available wherever there is a UID: --json has it only in decimal, as on the wire. */
const hexOf = (record: JsonObject): string | undefined =>
  typeof record.uid === 'string' && !('hex' in record) ? colons(record.uid) : undefined

/** `chipGroup.name` reads a nested field. */
const valueAt = (value: unknown, path: string): unknown => {
  if (!isJsonObject(value)) return undefined
  if (Object.hasOwn(value, path)) return value[path]
  if (path === 'hex') return hexOf(value)
  const dot = path.indexOf('.')
  return dot < 1 ? undefined : valueAt(value[path.slice(0, dot)], path.slice(dot + 1))
}

const has = (value: unknown, path: string): boolean =>
  isJsonObject(value) &&
  (Object.hasOwn(value, path.split('.', 1)[0] ?? '') || (path === 'hex' && hexOf(value) !== undefined))

/** Selects the fields that `--fields` names. */
export const chooseFields = (names: readonly string[]) => {
  const unknownIn = (values: readonly unknown[]): string | undefined =>
    names.find((name) => !values.some((value) => has(value, name)))
  const known = (values: readonly unknown[]): string => {
    const [first] = values
    return isJsonObject(first) ? `Available: ${Object.keys(first).join(', ')}` : 'There are no fields'
  }
  return {
    pick: (value: unknown): JsonObject =>
      Object.fromEntries(names.map((name) => [name, valueAt(value, name) ?? null])),
    columns: Object.fromEntries(
      names.map((name) => [name, (row: unknown) => valueAt(row, name)]),
    ) as Columns<unknown>,
    /** Lists are only read, so an unknown name can still be refused. */
    check: (rows: readonly unknown[]): void => {
      const unknown = rows.length === 0 ? undefined : unknownIn(rows)
      if (unknown !== undefined) throw new UsageError(`--fields: there is no "${unknown}".`, known(rows))
    },
    /** After a change it is too late to refuse an unknown name: only a warning is printed. */
    complaint: (value: unknown): string | undefined => {
      const unknown = unknownIn([value])
      return unknown === undefined ? undefined : `--fields: there is no "${unknown}" here. ${known([value])}`
    },
  }
}
