import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, Interrupted } from '../errors.ts'
import { formatNumber } from '../io/text.ts'
import type { Problems } from './input/problems.ts'
import type { Row } from './journal.ts'
import { type TokenTarget, targetKey } from './token.ts'

export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}

/** Checks rows with the daemon. An interrupt ends the check, and nothing is changed. @param done `written` or `sent` */
export const checkWithDaemon = async <T>(
  ctx: CliContext,
  done: string,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  await ctx.beforeWrite()
  const interrupted = new AbortController()
  const stopListening = ctx.system.interrupts.listen(() => interrupted.abort())
  const answer = await ask(interrupted.signal).finally(stopListening)
  if (interrupted.signal.aborted) throw new Interrupted(`Interrupted. Nothing was ${done}.`)
  return answer
}

/** The answer ended too early, as where the daemon was stopped. */
export class CutShort extends CliError {}

export async function* matchAnswers<R extends Row, A extends Row, T>(
  answers: AsyncIterable<A | { readonly totals: unknown }>,
  rows: readonly R[],
  make: (row: R, answer: A) => T,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  let count = 0
  for await (const answer of answers) {
    const sent = 'row' in answer ? rows.at(answer.row - 1) : undefined
    if (sent === undefined || !('row' in answer)) continue
    count += 1
    yield make(sent, answer)
  }
  if (count < rows.length && !signal?.aborted)
    throw new CutShort(`The daemon answered only ${count} of ${rows.length} rows.`)
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

/** The daemon's message without its remark on codes: a batch uses none. */
export const rowMessage = (answer: string, target?: TokenTarget): string =>
  target && 'uid' in target && answer.startsWith('No such token')
    ? 'The chip carries no token. Give it one: tapchip chips link'
    : answer.replace(/ ?Nothing was used up(; [^.]*)?\.$/, '')

/** Splits the daemon's message about a row into the column and the reason. */
export const splitField = (answer: string): { readonly column: string | undefined; readonly why: string } => {
  const text = rowMessage(answer).replace(/\.$/, '')
  const [, column, why] = /^([a-zA-Z]+): (.*)$/s.exec(text) ?? []
  if (column === undefined || why === undefined) return { column: undefined, why: text }
  return { column, why: why.replace(/^([^\s"]+) (?=has |is |must )/, '"$1" ') }
}

export const addAnswer = (problems: Problems, row: number, answer: string | undefined): void => {
  const { column, why } = splitField(answer ?? 'is invalid')
  problems.add(row, column, why)
}

/** Also finds two rows for one token. @param about such a row, as `moves the same token` */
export const addTokenAnswers = (
  problems: Problems,
  answers: Iterable<{
    readonly row: number
    readonly status: string
    readonly error?: string | undefined
    readonly token?: { contractAddress: string; chainId: number; tokenId: string | null } | undefined
  }>,
  about: string,
): void => {
  const tokens = new Map<string, number>()
  for (const { row, status, error, token } of answers) {
    if (status === 'invalid') addAnswer(problems, row, error)
    if (!token || token.tokenId === null) continue
    const key = targetKey({ ...token, tokenId: token.tokenId })
    const before = tokens.get(key)
    if (before === undefined) tokens.set(key, row)
    else if (!problems.has(row)) problems.add(row, undefined, `${about} as row ${before}`)
  }
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

export const showChanges = async (
  ctx: CliContext,
  changes: Iterable<{ readonly status: string; readonly line: object; forPeople(): string }>,
): Promise<ExitCode> => {
  const counts = new Map<string, number>()
  const shown = dryRunLines(ctx)
  for (const { status, line, forPeople } of changes) {
    counts.set(status, (counts.get(status) ?? 0) + 1)
    await shown.line(line, forPeople)
  }
  shown.end()
  const count = (status: string) => formatNumber(counts.get(status) ?? 0)
  ctx.io.note(
    `Dry run: ${count('changed')} would change, ${count('unchanged')} unchanged, ${count('failed')} would fail. Nothing was written.`,
  )
  return counts.has('failed') ? exitCodes.partial : exitCodes.done
}
