import { stringifyExact } from '../../../values/exact-json.ts'
import { isJsonObject } from '../../../values/json.ts'
import type { Client } from '../../client/types.ts'
import { CliError } from '../../errors.ts'
import { clean, cleanLines, counted } from '../../io/text.ts'
import { addTokenAnswers, checkWithDaemon, matchAnswers, showChanges } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, orNull, type Result, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'
import { describeTarget, isTarget, targetOnWire, targetSheet } from '../token.ts'
import { type Described, type MetadataCheck, type MetadataRow, metadataSheet } from './metadata-sheet.ts'

/** Characters per request: the daemon takes 64 MiB. */
const mostTogether = 16 * 1024 * 1024

const lineOf = ({ target, metadata, expected }: MetadataRow): string =>
  `${stringifyExact({ ...targetOnWire(target), metadata, expected })}\n`

const sendMetadata = (
  client: Client,
  rows: readonly MetadataRow[],
  dryRun: boolean,
  signal?: AbortSignal,
): AsyncGenerator<Described> => {
  const answers = client.stream('POST /phygitals/metadata/batch', {
    query: dryRun ? { dryRun: 'true' } : {},
    upload: { contentType: 'application/x-ndjson', content: rows.map(lineOf) },
    ...(signal ? { signal } : {}),
  })
  return matchAnswers(answers, rows, ({ row }, answer: Described) => ({ ...answer, row }), signal)
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

/** A person looks at this many; all of them are checked. */
const jsonShown = 3

function* changesIn(rows: readonly MetadataRow[], check: MetadataCheck) {
  let shown = 0
  for (const { row, target, metadata } of rows) {
    const checked = check.get(row)
    if (!checked) continue
    const { status, token, previous, error } = checked
    const withJson = status !== 'failed' && shown < jsonShown
    if (withJson) shown += 1
    const forPeople = () => {
      const start = clean(`row ${row}  ${describeTarget(target)}  ${status}${error ? `  ${error}` : ''}`)
      const json = metadata === null ? '(no metadata)' : stringifyExact(metadata, 2)
      return withJson ? `${start}\n${cleanLines(json)}` : start
    }
    yield { status, line: { row, status, token, metadata, previous, error }, forPeople }
  }
}

export const metadata: RowKind<MetadataRow, Result, MetadataCheck> = {
  name: 'phygitals metadata',
  sheet: metadataSheet(),
  isRow: shape<MetadataRow>({
    row: isNumber,
    target: isTarget,
    metadata: orNull(isJsonObject),
    expected: orAbsent(orNull(isJsonObject)),
    previous: orAbsent(orNull(isJsonObject)),
  }),
  isResult: shape<Result>({ row: isNumber, status: isStatus, error: orAbsent(isText) }),
  check: (ctx, rows) =>
    checkWithDaemon(ctx, 'written', async (signal) => {
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
  addProblems: (check, problems) => addTokenAnswers(problems, check.values(), 'is about the same token'),
  show: (ctx, rows, check = new Map()) => showChanges(ctx, changesIn(rows, check)),
  prepare: (row, check) => {
    const { token, previous } = check.get(row.row) ?? {}
    // The token itself, since the chip may be linked to another one when this is undone.
    const target = token?.tokenId ? { ...token, tokenId: token.tokenId } : row.target
    return { ...row, target, previous }
  },
  foreseen: ({ row }, check) => check.get(row),
  settle: ({ row }, check) =>
    check.get(row)?.status === 'unchanged' ? { row, status: 'unchanged' } : undefined,
  requests: { rows: 100, atOnce: 2 },
  // Writing the same metadata twice changes nothing.
  endpoint: 'POST /phygitals/metadata/batch',
  send: async function* (client, rows) {
    for await (const { row, status, error } of sendMetadata(client, rows, false)) {
      // The daemon refuses the whole request for an invalid row.
      if (status === 'invalid') throw new CliError(`Row ${row}: ${error ?? 'is invalid'}`)
      yield { row, status, error }
    }
  },
  label: 'Updating',
  countedStatuses: ['changed', 'unchanged', 'failed'],
  next: (id, { changed }) => (changed > 0 ? `Undo it: tapchip batch undo ${id}` : ''),
  describe: ({ status, error }, { row, target }) =>
    clean(`row ${row}  ${describeTarget(target)}  ${status}${error === undefined ? '' : `  ${error}`}`),
  about: ({ target }) => target,
  pending: ({ target }) => `${describeTarget(target)}  `,
  sheetOf: (rows) => {
    const { heading, cells } = targetSheet(rows.map(({ target }) => target))
    return {
      heading: [...heading, 'metadata'],
      cells: ({ target, metadata: written }) => [...cells(target), stringifyExact(written)],
    }
  },
  undo: {
    name: 'phygitals undo',
    question: (count) => `Restore the metadata of ${counted(count, 'token')}?`,
    nothing: 'The batch changed nothing that can be restored.',
    row: ({ row, target, metadata: ours, previous }) =>
      previous !== undefined ? { row, target, metadata: previous, expected: ours } : undefined,
  },
}
