// A spreadsheet runs a cell that begins with = + - or @ as a formula. CSV that we write puts an apostrophe before such
// a cell, and CSV that we read removes one, so a round trip changes nothing. A cell that already begins with
// apostrophes and such a character gets one more.

const formula = /^'*[=+\-@\t\r]/
const guarded = /^'+[=+\-@\t\r]/

export const guardCell = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell)
export const unguardCell = (cell: string): string =>
  cell.charCodeAt(0) === 39 && guarded.test(cell) ? cell.slice(1) : cell

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export const csvLine = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\n`

export const sheetLine = (cells: readonly string[]): string => csvLine(cells.map(guardCell))
