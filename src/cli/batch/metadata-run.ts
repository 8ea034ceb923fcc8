import type { CliContext } from '../context.ts'
import { CliError, type ExitCode } from '../errors.ts'
import { clean } from '../io/text.ts'
import { beginBatch, takeUpBatch } from './begin.ts'
import { checkFailedFile, writeFailedRows } from './failed-file.ts'
import { countResults, type History } from './history.ts'
import { checkMetadata, type MetadataCheck, sendMetadata, showMetadata } from './metadata-check.ts'
import type { Header } from './records.ts'
import type { MetadataRow, Outcome } from './token-records.ts'
import { type Heard, runTokenRows, type TokenRun } from './token-run.ts'
import { targetSheet, targetWords } from './token-words.ts'

const requests = { rows: 100, atOnce: 2 }

export const describeMetadata = ({ status, error }: Outcome, { row, target }: MetadataRow): string =>
  clean(`row ${row}  ${targetWords(target)}  ${status}${error === undefined ? '' : `  ${error}`}`)

/** Begins a batch: its journal, with what stood there before, is on disk before the first row is sent. */
export const startMetadata = async (
  ctx: CliContext,
  batch: {
    readonly kind: 'phygitals metadata' | 'phygitals undo'
    readonly input: Header['input']
    readonly undoes?: string
    readonly rows: readonly MetadataRow[]
    readonly check: MetadataCheck
    readonly rate: number | undefined
    readonly failedFile?: string | undefined
  },
): Promise<ExitCode> => {
  const { kind, input, undoes, check, rate, failedFile } = batch
  checkFailedFile(ctx, failedFile)
  // A chip's token by its place: the chip may be linked to another one when this is taken back.
  const rows = batch.rows.map((row): MetadataRow => {
    const { token, previous } = check.get(row.row) ?? {}
    const target = token?.tokenId ? { ...token, tokenId: token.tokenId } : row.target
    return { ...row, target, ...(previous === undefined ? {} : { previous }) }
  })
  const about = { kind, total: rows.length, input, ...(undoes === undefined ? {} : { undoes }) }
  const lines = rows.map((row) => ({ type: 'metadata' as const, ...row }))
  const { id, journal } = await beginBatch(ctx, about, lines)
  const settled = new Map<number, Outcome>(
    rows
      .filter(({ row }) => check.get(row)?.status === 'unchanged')
      .map(({ row }) => [row, { row, status: 'unchanged' }]),
  )
  const { exitCode, outcomes } = await run(ctx, { id, journal, rows, settled, rate })
  if (failedFile !== undefined) writeFailed(ctx, failedFile, batch.rows, outcomes)
  return exitCode
}

/** Writing the same again changes nothing. */
export const resumeMetadata = async (
  ctx: CliContext,
  { header, metadata, outcomes }: History,
  { retryFailed, rate }: { readonly retryFailed: boolean; readonly rate: number | undefined },
): Promise<ExitCode | undefined> => {
  const rows = metadata.filter(({ row }) => {
    const outcome = outcomes.get(row)
    return outcome === undefined || (retryFailed && outcome.status === 'failed')
  })
  if (rows.length === 0) return undefined
  if (ctx.flags.dryRun) return showMetadata(ctx, rows, await checkMetadata(ctx, rows))
  const again = new Set(rows.map(({ row }) => row))
  const before = countResults([...outcomes.values()].filter(({ row }) => !again.has(row)))
  const journal = await takeUpBatch(ctx, header, rows.length)
  return (await run(ctx, { id: header.id, journal, rows, before, rate })).exitCode
}

/**
 * Rows whose metadata is ours, as far as the journal tells; `expected` keeps an undo from what somebody has changed
 * since, and from what was never written.
 */
export const metadataToPutBack = ({ metadata, outcomes, sent }: History): MetadataRow[] =>
  metadata.flatMap(({ row, target, metadata: ours, previous }) => {
    const outcome = outcomes.get(row)
    const isOurs = outcome === undefined ? sent.has(row) : outcome.status === 'changed'
    if (!isOurs || previous === undefined || previous === null) return []
    return [{ row, target, metadata: previous, expected: ours }]
  })

const run = async (
  ctx: CliContext,
  batch: Pick<TokenRun<MetadataRow>, 'id' | 'journal' | 'rows' | 'settled' | 'before' | 'rate'>,
) => {
  const client = await ctx.client()
  return runTokenRows<MetadataRow>(ctx, {
    ...batch,
    label: 'Describing',
    done: 'changed',
    requests,
    send: async function* (rows): AsyncGenerator<Heard> {
      for await (const { row, status, error } of sendMetadata(client, rows, false)) {
        // A row that does not fit makes the daemon refuse the request.
        if (status === 'invalid') throw new CliError(`Row ${row}: ${error ?? 'does not fit'}`)
        yield { row, status, ...(error === undefined ? {} : { error }) }
      }
    },
    describe: describeMetadata,
    next: ({ changed }) => (changed > 0 ? `Take it back: tapchip batch undo ${batch.id}` : ''),
  })
}

const writeFailed = (
  ctx: CliContext,
  file: string,
  rows: readonly MetadataRow[],
  outcomes: ReadonlyMap<number, Outcome>,
): void => {
  const failed = rows.filter(({ row }) => (outcomes.get(row)?.status ?? 'failed') === 'failed')
  const { heading, cells } = targetSheet((failed.length > 0 ? failed : rows).map(({ target }) => target))
  const lines = failed.map(({ target, metadata }) => [...cells(target), JSON.stringify(metadata)])
  writeFailedRows(ctx, file, [...heading, 'metadata'], lines)
}
