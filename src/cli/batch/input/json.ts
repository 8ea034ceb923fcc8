import { linesOf } from '../../../values/line-splitter.ts'
import { UsageError } from '../../errors.ts'

export interface JsonRow {
  readonly value: Readonly<Record<string, unknown>> | undefined
  readonly malformed: string | undefined
}

const toRow = (value: unknown): JsonRow =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { value: Object.fromEntries(Object.entries(value)), malformed: undefined }
    : { value: undefined, malformed: 'a row must be an object' }

const parseRow = (text: string): JsonRow => {
  try {
    return toRow(JSON.parse(text))
  } catch (error) {
    return { value: undefined, malformed: error instanceof Error ? error.message : 'not JSON' }
  }
}

/** Rows of a JSON array, or of JSON lines, blank lines left out. */
export async function* jsonRows(
  chunks: AsyncIterable<string>,
  format: 'json' | 'jsonl',
): AsyncGenerator<JsonRow> {
  if (format === 'json') yield* rowsOfArray(await gather(chunks))
  else for await (const line of linesOf(chunks)) yield parseRow(line)
}

const gather = async (chunks: AsyncIterable<string>): Promise<string> => {
  const pieces: string[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return pieces.join('')
}

const rowsOfArray = (text: string): JsonRow[] => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(
      `The input is not JSON: ${error instanceof Error ? error.message : error}. Nothing was written.`,
    )
  }
  // One object alone is a batch of one.
  return (Array.isArray(value) ? value : [value]).map(toRow)
}
