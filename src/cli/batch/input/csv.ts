import { CsvReader, type CsvRows } from '../../../values/csv-reader.ts'
import { UsageError } from '../../errors.ts'

/** A quote that is never closed would otherwise take up the whole file. */
const longestRow = 1024 * 1024

const delimiters = [',', ';', '\t'] as const

export const sniffDelimiter = (heading: string): string => {
  const bare = heading.replace(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => bare.split(delimiter).length)
  const most = Math.max(...counts)
  return delimiters[counts.indexOf(most)] ?? ','
}

/** Rows of CSV in blocks, with the heading first and without blank lines. */
export async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<CsvRows> {
  let reader: CsvReader | undefined
  let head = ''
  for await (const chunk of chunks) {
    if (reader && reader.pending > longestRow)
      throw new UsageError('A quotation mark is never closed. Nothing was written.')
    if (reader) yield reader.push(chunk)
    else {
      head = withoutHint(head + chunk)
      // The first line decides on the delimiter and the line end.
      if (!/[\r\n]./s.test(head)) continue
      reader = readerFor(head)
      yield reader.push(head)
    }
  }
  if (!reader) {
    reader = readerFor(head)
    yield reader.push(head)
  }
  yield reader.end()
}

/** Removes the `sep=;` line that Excel writes. */
const withoutHint = (text: string): string => text.replace(/^sep=.\r?\n/i, '')

const readerFor = (text: string): CsvReader => {
  const heading = text.split(/[\r\n]/, 1)[0] ?? ''
  const newline = text.includes('\n') || !text.includes('\r') ? '\n' : '\r'
  return new CsvReader({ delimiter: sniffDelimiter(heading), newline })
}
