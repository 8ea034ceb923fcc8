import Papa from 'papaparse'
import { DomainError } from '../domain/errors.ts'
import {
  assertColumns,
  longestRow,
  notUtf8,
  replacement,
  type SheetBlock,
  type SheetRow,
} from './sheet-row.ts'

interface Parsed {
  rows: string[][]
  /** By index into rows. */
  wrong: Map<number, string>
  /** What is not a whole row yet. */
  rest: string
}

/** The heading first. @throws DomainError invalid_input */
export async function openCsv(
  texts: AsyncGenerator<string>,
  columns: readonly string[],
): Promise<AsyncGenerator<SheetBlock>> {
  let text = ''
  for (let done = false; !done; ) {
    const next = await texts.next()
    done = next.done === true
    if (!next.done) text += next.value
    const { rows, rest } = parse(text, done)
    const heading = rows[0]?.map((name) => name.trim())
    if (heading) {
      assertColumns(heading, columns)
      if (!heading.includes('uid') && !heading.includes('publicKey')) {
        throw new DomainError(
          'invalid_input',
          'The column uid is missing (or publicKey, of HaLo chips). The first row names the columns.',
        )
      }
      return blocksOf(texts, heading, text)
    }
    if (rest.length > longestRow) break
  }
  if (text.trim() === '')
    throw new DomainError('invalid_input', 'The body is empty: send CSV whose first row names the columns.')
  throw new DomainError(
    'invalid_input',
    `The first row is over ${longestRow} characters. Is a quote opened and never closed?`,
  )
}

/** @param text what was read already, with the heading */
async function* blocksOf(
  texts: AsyncGenerator<string>,
  heading: readonly string[],
  text: string,
): AsyncGenerator<SheetBlock> {
  let rest = ''
  let added = text
  let isBeforeHeading = true
  for (let done = false; !done; ) {
    const parsed = parse(rest + added, false)
    if (isBeforeHeading) isBeforeHeading = !dropHeading(parsed)
    rest = parsed.rest
    const rows = rowsOf(parsed, heading)
    if (rest.length > longestRow) {
      rows.push({
        problem: `is over ${longestRow} characters: is a quote opened and never closed? Nothing from this row on was read`,
      })
      rest = ''
      done = true
    }
    if (rows.length > 0) yield { rows, size: added.length }
    const next = done ? undefined : await texts.next()
    if (next?.done) break
    added = next?.value ?? ''
  }
  const last = parse(rest, true)
  if (isBeforeHeading) dropHeading(last)
  const rows = rowsOf(last, heading)
  if (rows.length > 0) yield { rows, size: rest.length }
  // Leaving the body unread would cut the connection, and the answer with it.
  while (!(await texts.next()).done);
}

function dropHeading(parsed: Parsed): boolean {
  parsed.wrong = new Map([...parsed.wrong].map(([at, reason]) => [at - 1, reason]))
  return parsed.rows.shift() !== undefined
}

const reasons: Partial<Record<Papa.ParseError['code'], string>> = {
  MissingQuotes: 'a quote is opened and never closed, and all that follows it was taken for its text',
  InvalidQuotes: 'a quote stands within quoted text; write it twice',
}

const parser = new Papa.Parser({ delimiter: ',', newline: '\n' })

function parse(text: string, isLast: boolean): Parsed {
  const result: Papa.ParseResult<string[]> = parser.parse(text, 0, !isLast)
  const { data: rows, errors, meta } = result
  const rest = isLast ? '' : text.slice(meta.cursor)
  // After the end of the last line comes nothing, which the parser takes for a row.
  if (isLast && rows.at(-1)?.length === 1 && rows.at(-1)?.[0] === '') rows.pop()
  if (text.includes('\r')) for (const row of rows) dropReturn(row)
  return {
    rows,
    wrong: new Map(errors.map((error) => [error.row ?? 0, reasons[error.code] ?? error.message])),
    rest,
  }
}

/** Lines are parted at \n, so one from Windows leaves its \r in the last cell. */
function dropReturn(cells: string[]): void {
  const last = cells.at(-1)
  if (last?.endsWith('\r')) cells[cells.length - 1] = last.slice(0, -1)
}

function rowsOf({ rows: parsed, wrong }: Parsed, heading: readonly string[]): SheetRow[] {
  const rows: SheetRow[] = []
  const [only] = heading
  for (const [at, cells] of parsed.entries()) {
    const [first = ''] = cells
    // By far the most frequent sheet has a column of UIDs and nothing else.
    if (heading.length === 1 && cells.length === 1 && only !== undefined && wrong.size === 0) {
      if (first.includes(replacement)) rows.push({ problem: notUtf8 })
      else if (first !== '') rows.push({ values: { [only]: first } })
    } else if (!cells.every((cell) => cell.trim() === '')) rows.push(rowOf(cells, heading, wrong.get(at)))
  }
  return rows
}

function rowOf(
  cells: readonly string[],
  heading: readonly string[],
  malformed: string | undefined,
): SheetRow {
  const uid = cells[heading.indexOf('uid')]
  if (malformed !== undefined) return { problem: `is malformed: ${malformed}`, uid }
  if (cells.length !== heading.length) {
    return { problem: `has ${cells.length} cells where the first row names ${heading.length} columns`, uid }
  }
  const values: Record<string, string> = {}
  for (const [at, name] of heading.entries()) {
    const cell = cells[at] ?? ''
    if (cell.includes(replacement)) return { problem: `${name} ${notUtf8}`, uid }
    if (cell !== '') values[name] = cell
  }
  return { values }
}
