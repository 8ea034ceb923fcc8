import { LineSplitter } from '../../values/line-splitter.ts'
import { importRow } from '../contract/admin/chips.ts'
import { DomainError } from '../domain/errors.ts'
import { describeIssues } from './parse-input.ts'
import {
  assertColumns,
  longestRow,
  notUtf8,
  replacement,
  type SheetBlock,
  type SheetRow,
} from './sheet-row.ts'

/** @throws DomainError invalid_input where the first row has members that there are not */
export async function openJsonLines(
  texts: AsyncGenerator<string>,
  columns: readonly string[],
): Promise<AsyncGenerator<SheetBlock>> {
  const blocks = linesOf(texts)
  const first = await blocks.next()
  if (first.done) throw new DomainError('invalid_input', 'The body is empty: send a JSON object a line.')
  const [row] = first.value.lines
  if (row !== undefined) {
    const value = parseLine(row)
    if (isObject(value)) assertColumns(Object.keys(value), columns)
  }
  return read(first.value, blocks, columns)
}

interface Lines {
  lines: readonly string[]
  size: number
}

async function* read(
  first: Lines,
  blocks: AsyncGenerator<Lines>,
  columns: readonly string[],
): AsyncGenerator<SheetBlock> {
  yield { rows: first.lines.map((line) => rowOf(line, columns)), size: first.size }
  for await (const { lines, size } of blocks) yield { rows: lines.map((line) => rowOf(line, columns)), size }
}

/** Lines, blank ones left out, and none of them longer than it takes to say that it is too long. */
async function* linesOf(texts: AsyncGenerator<string>): AsyncGenerator<Lines> {
  const splitter = new LineSplitter(longestRow)
  for await (const text of texts) {
    const lines = splitter.push(text)
    if (lines.length > 0) yield { lines, size: text.length }
  }
  const lines = splitter.end()
  if (lines.length > 0) yield { lines, size: longestRow }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An export writes null for what a chip does not have. */
const withoutNulls = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).filter(([, cell]) => cell !== null))

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function rowOf(line: string, columns: readonly string[]): SheetRow {
  if (line.length > longestRow) return { problem: `is over ${longestRow} characters` }
  if (line.includes(replacement)) return { problem: notUtf8 }
  const value = parseLine(line)
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const unknown = Object.keys(value).filter((name) => !columns.includes(name))
  if (unknown.length > 0)
    return { problem: `has members that are no columns: ${unknown.slice(0, 20).join(', ')}` }
  const inexact = Object.keys(value).find(
    (name) => typeof value[name] === 'number' && !Number.isSafeInteger(value[name]),
  )
  if (inexact !== undefined)
    return { problem: `${inexact} must be a whole number; write it as text where it is large` }
  const parsed = importRow.safeParse(withoutNulls(value))
  if (!parsed.success) return { problem: describeIssues(parsed.error.issues) }
  const values: Record<string, string> = {}
  for (const [name, cell] of Object.entries(parsed.data)) {
    if (cell !== undefined && cell !== '') values[name] = String(cell)
  }
  return { values }
}
