import Papa from 'papaparse'
import { UsageError } from '../../errors.ts'

export interface CsvRow {
  readonly cells: readonly string[]
  /** Why the line is no row of CSV. */
  readonly malformed: string | undefined
}

/** A quote that is never closed would otherwise swallow the file, again with each chunk. */
const longestRow = 1024 * 1024

const delimiters = [',', ';', '\t'] as const

/** Of the characters that separate in practice, the one that the heading holds most of. */
export const sniffDelimiter = (heading: string): string => {
  const bare = heading.replace(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => bare.split(delimiter).length)
  const most = Math.max(...counts)
  return delimiters[counts.indexOf(most)] ?? ','
}

/** Rows of CSV in batches, the heading first, blank lines left out. */
export async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<CsvRow[]> {
  let parser: InstanceType<typeof Papa.Parser> | undefined
  let rest = ''
  const parse = (text: string, last: boolean): CsvRow[] => {
    parser ??= parserFor(text)
    const result: Papa.ParseResult<string[]> = parser.parse(last ? text : text, 0, !last)
    rest = last ? '' : text.slice(result.meta.cursor)
    const wrong = new Map(result.errors.map((error) => [error.row ?? 0, error.message]))
    return result.data.flatMap((cells, i) => {
      const final = cells.length - 1
      const end = cells[final]
      // With \n as the end of a line, a file from Windows leaves its \r in the last cell.
      if (end?.endsWith('\r')) cells[final] = end.slice(0, -1)
      const blank = cells.every((cell) => cell.trim() === '')
      return blank ? [] : [{ cells, malformed: wrong.get(i) }]
    })
  }
  for await (const chunk of chunks) {
    const text = withoutHint(rest + chunk, parser === undefined)
    // The first parse decides on delimiter and line end, so it waits for a whole line.
    if (parser === undefined && !/[\r\n]./s.test(text)) {
      rest = text
      continue
    }
    if (rest.length > longestRow)
      throw new UsageError('A quote is opened and never closed. Nothing was written.')
    yield parse(text, false)
  }
  if (rest !== '') yield parse(withoutHint(rest, parser === undefined), true)
}

/** Excel's `sep=;` line. */
const withoutHint = (text: string, atStart: boolean): string =>
  atStart ? text.replace(/^sep=.\r?\n/i, '') : text

const parserFor = (text: string) => {
  const heading = text.split(/[\r\n]/, 1)[0] ?? ''
  const newline = text.includes('\n') || !text.includes('\r') ? '\n' : '\r'
  return new Papa.Parser({ delimiter: sniffDelimiter(heading), newline })
}
