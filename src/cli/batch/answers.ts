import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { formatNumber } from '../io/text.ts'

export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}

/** A row that the daemon refused. @throws errors that say nothing about the row: no daemon, no key, no upstream */
export const refused = (error: unknown): { readonly status: 'failed'; readonly error: string } => {
  if (
    !(error instanceof ApiError) ||
    error.code === 'batch_taken' ||
    ![400, 404, 409, 413, 415].includes(error.statusCode)
  )
    throw error
  return { status: 'failed', error: error.message }
}

/** A person reads no more of a dry run; with --json, every row is shown. */
const shownAtMost = 100

/** Shows rows of a dry run: all of them to programs, and the first ones to people. */
export const dryRunLines = ({ io }: CliContext) => {
  let shown = 0
  return {
    line: async (line: object, forPeople: () => string): Promise<void> => {
      shown += 1
      if (io.json || shown <= shownAtMost) await io.line(line, forPeople)
    },
    end: (): void => {
      if (!io.json && shown > shownAtMost)
        io.note(`… and ${formatNumber(shown - shownAtMost)} more rows. See all of them: --json`)
    },
  }
}
