import { stringifyExact } from '../../values/exact-json.ts'
import type { JsonObject } from '../../values/json.ts'
import { colons } from '../uid.ts'

// A spreadsheet runs a cell that begins with = + - or @ as a formula, or with one of their fullwidth forms (OWASP, "CSV
// Injection"). CSV that we write puts an apostrophe before such a cell, and CSV that we read removes one, so a round
// trip changes nothing. A cell that already begins with apostrophes and such a character gets one more.

const formula = /^'*[=+\-@＝＋－＠\t\r]/
const guarded = /^'+[=+\-@＝＋－＠\t\r]/

export const guardCell = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
export const unguardCell = (cell: string): string =>
  cell.charCodeAt(0) === 39 && guarded.test(cell) ? cell.slice(1) : cell

const special = { ',': /[",\r\n]/, ';': /[";\r\n]/, '\t': /["\t\r\n]/ } as const
export type Delimiter = keyof typeof special

export const csvLine = (cells: readonly string[], delimiter: Delimiter = ','): string =>
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
