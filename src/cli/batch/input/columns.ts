import { CsvReader, type CsvRows } from '../../../values/csv-reader.ts'
import { tidyCell } from '../../../values/invisible.ts'
import { UsageError } from '../../errors.ts'
import type { Delimiter } from '../../io/lists.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import type { Problems } from './problems.ts'

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

export interface ColumnOptions {
  /** Our columns; rows come with their cells in this order. */
  readonly columns: readonly string[]
  /** A sheet without one of them is refused. */
  readonly required: readonly string[]
  /** At least one of them must be there. */
  readonly anyOf?: readonly string[]
  /** Our column → the name in the sheet. */
  readonly renamed: ReadonlyMap<string, string>
  /** Unknown columns to ignore: all of them, or those named. */
  readonly ignored: 'all' | ReadonlySet<string>
}

const looksLike: Readonly<Record<string, RegExp>> = {
  uid: /uid|tag|chip|serial|nfc/i,
  redirectUrl: /url|link|redirect|target/i,
  recipient: /recipient|wallet|holder|owner|^to$/i,
  metadata: /meta|json/i,
}

/** The position of each of our columns in the sheet; undefined if a required one is missing. */
export const layOut = (heading: readonly string[], options: ColumnOptions, problems: Problems) => {
  const names = heading.map((name) => tidyCell(undefined, name))
  const originalName = (column: string) => options.renamed.get(column) ?? column
  const positions = options.columns.map((column) => names.indexOf(originalName(column)))
  const unknown = new Set<string>()
  for (const [i, name] of names.entries()) {
    if (positions.includes(i)) continue
    const double = names.indexOf(name) !== i && name !== ''
    if (double) problems.add(undefined, undefined, `column "${name}" appears twice`)
    else if (!isIgnored(name, options)) unknown.add(name)
  }
  for (const [column, name] of options.renamed) {
    if (!names.includes(name))
      problems.add(undefined, undefined, `column "${name}" (--map ${column}=${name}) does not exist`)
  }
  const { required, anyOf = [] } = options
  const isPresent = (column: string) => names.includes(originalName(column))
  const absent = [
    ...required.filter((column) => !isPresent(column)),
    ...(anyOf.some(isPresent) ? [] : anyOf.slice(0, 1)),
  ]
  for (const column of absent) {
    if (options.renamed.has(column)) continue
    const likely = names.find((name, i) => !positions.includes(i) && looksLike[column]?.test(name))
    // It is probably a column of ours, so nobody should be told to ignore it.
    if (likely !== undefined) unknown.delete(likely)
    const advice =
      likely === undefined
        ? `if it has another name: --map ${column}=NAME`
        : `if it is "${likely}": --map ${shellQuoted(`${column}=${likely}`)}`
    problems.add(undefined, undefined, `column "${column}" is missing; ${advice}`)
  }
  if (unknown.size > 0) problems.add(undefined, undefined, unknownColumns([...unknown], options))
  return absent.length === 0 ? positions : undefined
}

/** The last column of a file of failed rows, which says why they failed. */
export const reasonColumn = 'error'

export const isIgnored = (name: string, { ignored }: ColumnOptions): boolean =>
  name === '' || name === reasonColumn || ignored === 'all' || ignored.has(name)

/** Includes the flag that ignores them, ready to be copied. */
export const unknownColumns = (names: readonly string[], options: ColumnOptions): string => {
  const which = names.map((name) => `"${name}"`).join(', ')
  const [only = ''] = names
  const suggestion =
    names.length > 1
      ? undefined
      : options.columns.find((column) => column.toLowerCase() === only.toLowerCase())
  // A name with a comma cannot stand in the list.
  const list = names.some((name) => name.includes(',')) ? '' : ` ${shellQuoted(names.join(','))}`
  const advice =
    suggestion === undefined
      ? `to ignore ${names.length > 1 ? 'them' : 'it'}: --ignore-columns${list}`
      : `is it ${suggestion}? --map ${shellQuoted(`${suggestion}=${only}`)}`
  return clean(
    `unknown ${names.length > 1 ? 'columns' : 'column'} ${which}; ${advice} (known: ${options.columns.join(', ')})`,
  )
}
