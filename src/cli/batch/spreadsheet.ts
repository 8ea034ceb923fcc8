// A spreadsheet runs a cell that begins with = + - or @ as a formula, whoever wrote it. CSV that we write puts
// an apostrophe before such a cell, and CSV that we read takes one off again, so a round trip changes nothing.
// A cell that has apostrophes before such a character already gets one more, and loses one.

const formula = /^'*[=+\-@\t\r]/
const guarded = /^'+[=+\-@\t\r]/

export const guardCell = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
export const unguardCell = (cell: string): string =>
  cell.charCodeAt(0) === 39 && guarded.test(cell) ? cell.slice(1) : cell

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** A line of CSV for a program: quoted where needed. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\n`

/** A line of CSV for a spreadsheet. */
export const sheetLine = (cells: readonly string[]): string => csvLine(cells.map(guardCell))
