import type { Client } from '../../client/types.ts'
import { CliError } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import { showChanges } from '../engine.ts'
import { addAnswer } from '../input/answers.ts'
import { isNumber, isRecord, isStatus, isText, orAbsent, orNull, type Result, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'
import { whileChecking } from '../run.ts'
import { isTarget, targetKey, targetOnWire, targetSheet, targetWords } from '../token.ts'
import { type Described, type MetadataCheck, type MetadataRow, metadataSheet } from './metadata-sheet.ts'

/** Characters that go together: the daemon takes 64 MiB a request. */
const mostTogether = 16 * 1024 * 1024

const lineOf = ({ target, metadata, expected }: MetadataRow): string =>
  `${JSON.stringify({ ...targetOnWire(target), metadata, ...(expected === undefined ? {} : { expected }) })}\n`

/** Sends rows in one request; the daemon's answers come with the rows' own numbers. */
async function* sendMetadata(
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

/** A person looks at so many; all of them are checked. */
const jsonShown = 3

const cleanLines = (text: string): string => text.split('\n').map(clean).join('\n')

/** What each token would get. */
function* changesIn(rows: readonly MetadataRow[], check: MetadataCheck) {
  let shown = 0
  for (const { row, target, metadata } of rows) {
    const checked = check.get(row)
    if (!checked) continue
    const { status, token, previous, error } = checked
    const withJson = status !== 'failed' && shown < jsonShown
    if (withJson) shown += 1
    const forPeople = () => {
      const start = clean(`row ${row}  ${targetWords(target)}  ${status}${error ? `  ${error}` : ''}`)
      return withJson ? `${start}\n${cleanLines(JSON.stringify(metadata, null, 2))}` : start
    }
    yield { status, line: { row, status, token, metadata, previous, error }, forPeople }
  }
}

/** The metadata of tokens. */
export const metadata: RowKind<MetadataRow, Result, MetadataCheck> = {
  name: 'phygitals metadata',
  sheet: metadataSheet(),
  isRow: shape<MetadataRow>({
    row: isNumber,
    target: isTarget,
    metadata: isRecord,
    expected: orAbsent(isRecord),
    previous: orAbsent(orNull(isRecord)),
  }),
  isResult: shape<Result>({ row: isNumber, status: isStatus, error: orAbsent(isText) }),
  check: (ctx, rows) =>
    whileChecking(ctx, 'written', async (signal) => {
      const client = await ctx.client()
      const checked = new Map<number, Described>()
      const progress = ctx.io.progress('Checking', rows.length)
      try {
        for (const chunk of bySize(rows)) {
          for await (const answer of sendMetadata(client, chunk, true, signal)) {
            checked.set(answer.row, answer)
            progress.advance(1)
          }
        }
      } finally {
        progress.end()
      }
      return checked
    }),
  /** Fields of the metadata that do not fit, and one token twice. */
  addProblems: (check, problems) => {
    const tokens = new Map<string, number>()
    for (const { row, status, error, token } of check.values()) {
      if (status === 'invalid') addAnswer(problems, row, error)
      if (!token || token.tokenId === null) continue
      const key = targetKey({ ...token, tokenId: token.tokenId })
      const before = tokens.get(key)
      if (before === undefined) tokens.set(key, row)
      else if (!problems.has(row)) problems.add(row, undefined, `is about the same token as row ${before}`)
    }
  },
  show: (ctx, rows, check = new Map()) => showChanges(ctx, changesIn(rows, check)),
  prepare: (rows, check) => ({
    // A chip's token by its place: the chip may be linked to another one when this is taken back.
    rows: rows.map((row) => {
      const { token, previous } = check.get(row.row) ?? {}
      const target = token?.tokenId ? { ...token, tokenId: token.tokenId } : row.target
      return { ...row, target, ...(previous === undefined ? {} : { previous }) }
    }),
    settled: new Map(
      rows
        .filter(({ row }) => check.get(row)?.status === 'unchanged')
        .map(({ row }) => [row, { row, status: 'unchanged' }]),
    ),
  }),
  requests: { rows: 100, atOnce: 2 },
  // Writing the same again changes nothing.
  send: async function* (client, rows) {
    for await (const { row, status, error } of sendMetadata(client, rows, false)) {
      // A row that does not fit makes the daemon refuse the request.
      if (status === 'invalid') throw new CliError(`Row ${row}: ${error ?? 'does not fit'}`)
      yield { row, status, ...(error === undefined ? {} : { error }) }
    }
  },
  label: 'Describing',
  outcomes: ['changed', 'unchanged', 'failed'],
  next: (id, { changed }) => (changed > 0 ? `Take it back: tapchip batch undo ${id}` : ''),
  describe: ({ status, error }, { row, target }) =>
    clean(`row ${row}  ${targetWords(target)}  ${status}${error === undefined ? '' : `  ${error}`}`),
  about: ({ target }) => target,
  pending: ({ target }) => `${targetWords(target)}  `,
  sheetOf: (rows) => {
    const { heading, cells } = targetSheet(rows.map(({ target }) => target))
    return {
      heading: [...heading, 'metadata'],
      cells: ({ target, metadata: written }) => [...cells(target), JSON.stringify(written)],
    }
  },
  undo: {
    name: 'phygitals undo',
    question: (count) => `Put back the metadata of ${counted(count, 'token')}?`,
    nothing: 'The batch has changed nothing that could be put back.',
    // `expected` keeps an undo from what somebody has changed since, and from what was never written.
    rows: ({ rows, results, sent }) =>
      rows.flatMap(({ row, target, metadata: ours, previous }) => {
        const result = results.get(row)
        const isOurs = result === undefined ? sent.has(row) : result.status === 'changed'
        if (!isOurs || previous === undefined || previous === null) return []
        return [{ row, target, metadata: previous, expected: ours }]
      }),
  },
}
