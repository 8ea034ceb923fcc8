import type * as z from 'zod'
import { DomainError } from '../domain/errors.ts'
import { describeIssues } from './parse-input.ts'

/** A line of a body, counted from 1, in the shape that its schema gives it. */
export interface ReadLine<T> {
  readonly row: number
  readonly value: T
}

export interface BadLine {
  readonly row: number
  readonly problem: string
}

const badNamed = 1000
const linesATurn = 500

/** Reads a whole body of JSON lines, and tells what fits from what does not. @throws DomainError invalid_input */
export async function readLines<S extends z.ZodType>(
  lines: AsyncIterable<string>,
  schema: S,
): Promise<{ good: ReadLine<z.output<S>>[]; bad: BadLine[] }> {
  const good: ReadLine<z.output<S>>[] = []
  const bad: BadLine[] = []
  let row = 0
  for await (const line of lines) {
    row += 1
    const parsed = readLine(line, schema)
    if ('value' in parsed) good.push({ row, value: parsed.value })
    else bad.push({ row, problem: parsed.problem })
    // Taps are served in between.
    if (row % linesATurn === 0) await new Promise(setImmediate)
  }
  if (row === 0) throw new DomainError('invalid_input', 'body is empty: send JSON lines, a row each')
  return { good, bad }
}

function readLine<S extends z.ZodType>(
  line: string,
  schema: S,
): { value: z.output<S> } | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { problem: 'is not valid JSON' }
  }
  const parsed = schema.safeParse(value, {
    error: (issue) => (issue.input === undefined && issue.code !== 'custom' ? 'Required' : undefined),
  })
  return parsed.success ? { value: parsed.data } : { problem: describeIssues(parsed.error.issues) }
}

/** @throws DomainError invalid_input that names the rows, where there are any */
export function refuseBadLines(bad: readonly BadLine[]): void {
  if (bad.length === 0) return
  const named = bad.slice(0, badNamed).map(({ row, problem }) => `row ${row}: ${problem}`)
  const more = bad.length > badNamed ? `; and ${bad.length - badNamed} more` : ''
  throw new DomainError('invalid_input', `Nothing was done. ${named.join('; ')}${more}`)
}

/** Joins what is known already with what comes, by row; what has no row comes last. */
export async function* inLineOrder(
  known: readonly { row: number }[],
  coming: AsyncIterable<object>,
): AsyncGenerator<object> {
  let next = 0
  for await (const line of coming) {
    const row = 'row' in line && typeof line.row === 'number' ? line.row : Number.POSITIVE_INFINITY
    for (let first = known[next]; first !== undefined && first.row < row; first = known[next]) {
      next += 1
      yield first
    }
    yield line
  }
  yield* known.slice(next)
}
