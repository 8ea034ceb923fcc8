import type { AnswerOf, Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, Interrupted } from '../errors.ts'
import { clean, grouped } from '../io/text.ts'
import { addAnswer, withoutField } from './input/answers.ts'
import type { Problems } from './input/problems.ts'
import { noToken, type TokenFinder } from './metadata-input.ts'
import { targetKey } from './token-columns.ts'
import type { MetadataRow } from './token-records.ts'
import { targetOnWire, targetWords } from './token-words.ts'

type Line = AnswerOf<'POST /phygitals/metadata/batch'>
export type Described = Exclude<Line, { totals: unknown }>
export type MetadataCheck = ReadonlyMap<number, Described>

/** Characters that go together: the daemon takes 64 MiB a request. */
const mostTogether = 16 * 1024 * 1024

const lineOf = ({ target, metadata, expected }: MetadataRow): string =>
  `${JSON.stringify({ ...targetOnWire(target), metadata, ...(expected === undefined ? {} : { expected }) })}\n`

/** Sends rows in one request; the daemon's answers come with the rows' own numbers. */
export async function* sendMetadata(
  client: Client,
  rows: readonly MetadataRow[],
  dryRun: boolean,
  signal?: AbortSignal,
): AsyncGenerator<Described> {
  const answers = client.stream('POST /phygitals/metadata/batch', {
    query: dryRun ? { dryRun: 'true' } : {},
    upload: { contentType: 'application/x-ndjson', content: rows.map(lineOf) },
    ...(signal ? { signal } : {}),
  })
  let count = 0
  for await (const answer of answers) {
    if ('totals' in answer) continue
    const sent = rows[answer.row - 1]
    if (!sent) continue
    count += 1
    yield { ...answer, row: sent.row }
  }
  if (count < rows.length && !signal?.aborted)
    throw new CliError(`The daemon answered ${count} of ${rows.length} rows, and stopped.`)
}

/** What the daemon would say to each row, nothing being written. */
export const checkMetadata = async (
  ctx: CliContext,
  rows: readonly MetadataRow[],
): Promise<MetadataCheck> => {
  await ctx.beforeWrite()
  const client = await ctx.client()
  const checked = new Map<number, Described>()
  const interrupted = new AbortController()
  const stopListening = ctx.at.interrupts.listen(() => interrupted.abort())
  const progress = ctx.io.progress('Checking', rows.length)
  try {
    for (const chunk of bySize(rows)) {
      for await (const answer of sendMetadata(client, chunk, true, interrupted.signal)) {
        checked.set(answer.row, answer)
        progress.advance(1)
      }
    }
  } finally {
    stopListening()
    progress.end()
  }
  if (interrupted.signal.aborted) throw new Interrupted('Interrupted. Nothing was written.')
  return checked
}

function* bySize(rows: readonly MetadataRow[]): Generator<readonly MetadataRow[]> {
  let chunk: MetadataRow[] = []
  let size = 0
  for (const row of rows) {
    chunk.push(row)
    size += lineOf(row).length
    if (size < mostTogether) continue
    yield chunk
    chunk = []
    size = 0
  }
  if (chunk.length > 0) yield chunk
}

/** Adds what the daemon found that does not fit: fields of the metadata, one token twice. */
export const addMetadataProblems = (check: MetadataCheck, problems: Problems): void => {
  const tokens = new Map<string, number>()
  for (const { row, status, error, token } of check.values()) {
    if (status === 'invalid') addAnswer(problems, row, error)
    if (!token || token.tokenId === null) continue
    const key = targetKey({ ...token, tokenId: token.tokenId })
    const before = tokens.get(key)
    if (before === undefined) tokens.set(key, row)
    else if (!problems.has(row)) problems.add(row, undefined, `is about the same token as row ${before}`)
  }
}

/** The token that a row's chip carries, by the check. A row that does not fit is refused without it. */
export const tokenFinder =
  (check: MetadataCheck): TokenFinder =>
  (row) => {
    const { token, error, status } = check.get(row) ?? {}
    if (token?.tokenId) return { ...token, tokenId: token.tokenId }
    return status === 'invalid' ? noToken : withoutField(error ?? 'it has none').why
  }

/** A person looks at so many; all of them are checked. */
const jsonShown = 3

/** What each token would get. */
export const showMetadata = async (
  ctx: CliContext,
  rows: readonly MetadataRow[],
  check: MetadataCheck,
): Promise<ExitCode> => {
  const { io } = ctx
  const counts = { changed: 0, unchanged: 0, failed: 0, invalid: 0 }
  let shown = 0
  for (const { row, target, metadata } of rows) {
    const checked = check.get(row)
    if (!checked) continue
    const { status, token, previous, error } = checked
    counts[status] += 1
    const withJson = status !== 'failed' && shown < jsonShown
    if (withJson) shown += 1
    await io.line({ row, status, token, metadata, previous, error }, () => {
      const start = clean(`row ${row}  ${targetWords(target)}  ${status}${error ? `  ${error}` : ''}`)
      return withJson ? `${start}\n${cleanLines(JSON.stringify(metadata, null, 2))}` : start
    })
  }
  io.note(
    `Dry run: ${grouped(counts.changed)} would change, ${grouped(counts.unchanged)} unchanged, ${grouped(counts.failed)} would fail. Nothing was written.`,
  )
  return counts.failed > 0 ? exitCodes.partial : exitCodes.done
}

const cleanLines = (text: string): string => text.split('\n').map(clean).join('\n')
