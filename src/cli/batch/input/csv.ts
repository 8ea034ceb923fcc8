import { CsvReader, type CsvRows } from '../../../values/csv-reader.ts'
import { UsageError } from '../../errors.ts'
import type { Delimiter } from '../../io/csv.ts'

/** A quote that is never closed would otherwise take up the whole file. */
const maxRowLength = 1024 * 1024

const delimiters: readonly Delimiter[] = [',', ';', '\t']

export const sniffDelimiter = (heading: string): Delimiter => {
  const bare = heading.replace(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => bare.split(delimiter).length)
  const max = Math.max(...counts)
  return delimiters[counts.indexOf(max)] ?? ','
}

/** Rows of CSV in blocks, with the heading first and without blank lines. */
export async function* csvRows(
  chunks: AsyncIterable<string>,
): AsyncGenerator<CsvRows & { readonly delimiter: Delimiter }> {
  let reader: CsvReader | undefined
  let delimiter: Delimiter = ','
  let head = ''
  for await (const chunk of chunks) {
    if (reader && reader.pending > maxRowLength)
      throw new UsageError('A quotation mark is never closed. Nothing was written.')
    if (reader) yield { ...reader.push(chunk), delimiter }
    else {
      head = withoutHint(head + chunk)
      // The first line decides on the delimiter and the line end.
      if (!/[\r\n]./s.test(head)) continue
      ;({ reader, delimiter } = readerFor(head))
      yield { ...reader.push(head), delimiter }
    }
  }
  if (!reader) {
    ;({ reader, delimiter } = readerFor(head))
    yield { ...reader.push(head), delimiter }
  }
  yield { ...reader.end(), delimiter }
}

/** Removes the `sep=;` line that Excel writes. */
const withoutHint = (text: string): string => text.replace(/^sep=.\r?\n/i, '')

const readerFor = (text: string): { readonly reader: CsvReader; readonly delimiter: Delimiter } => {
  const heading = text.split(/[\r\n]/, 1)[0] ?? ''
  const newline = text.includes('\n') || !text.includes('\r') ? '\n' : '\r'
  const delimiter = sniffDelimiter(heading)
  return { reader: new CsvReader({ delimiter, newline }), delimiter }
}
