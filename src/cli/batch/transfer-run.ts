import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, UsageError } from '../errors.ts'
import { clean, counted } from '../io/text.ts'
import { beginBatch, takeUpBatch } from './begin.ts'
import { checkFailedFile, writeFailedRows } from './failed-file.ts'
import { countResults, type History } from './history.ts'
import { rowWords } from './input/answers.ts'
import type { Header } from './records.ts'
import type { Outcome, TransferRow } from './token-records.ts'
import { type Heard, runTokenRows, type TokenRun } from './token-run.ts'
import { targetOnWire, targetSheet, targetWords } from './token-words.ts'
import {
  checkTransfers,
  refuseUnpayable,
  showCheck,
  type TransferCheck,
  warnOfLimits,
} from './transfer-check.ts'

/** Three requests keep the daemon busy between their ends; an interrupt waits for three hundred rows at most. */
const requests = { rows: 100, atOnce: 3 }
/** The daemon keeps what it was told under a row's key for thirty days. */
const keyDays = 29

export const describeTransfer = (
  { status, initialTxHash, error }: Outcome,
  { row, target, recipient, owner }: TransferRow,
): string =>
  clean(
    [
      `row ${row}`,
      targetWords(target),
      status,
      `${owner === undefined ? 'owner not known' : (owner ?? 'nobody')} → ${recipient}`,
      ...[initialTxHash ?? error ?? []].flat(),
    ].join('  '),
  )

/**
 * Begins a batch: its journal with all its rows is on disk before the first of them is sent. Names go as the
 * addresses that the check showed.
 */
export const startTransfers = async (
  ctx: CliContext,
  batch: {
    readonly input: Header['input']
    readonly rows: readonly TransferRow[]
    readonly check: TransferCheck
    readonly rate: number | undefined
    readonly failedFile: string | undefined
  },
): Promise<ExitCode> => {
  const { input, check, rate, failedFile } = batch
  checkFailedFile(ctx, failedFile)
  const rows = batch.rows.map(({ row, target, recipient }): TransferRow => {
    const checked = check.rows.get(row)
    const owner = checked?.owner === undefined ? {} : { owner: checked.owner }
    return { row, target, recipient: checked?.recipient ?? recipient, ...owner }
  })
  const about = { kind: 'phygitals transfer', total: rows.length, input } as const
  const lines = rows.map((row) => ({ type: 'transfer' as const, ...row }))
  const { id, journal } = await beginBatch(ctx, about, lines)
  const settled = unchangedIn(rows, check)
  const { exitCode, outcomes } = await run(ctx, { id, journal, rows, settled, rate }, new Map())
  if (failedFile !== undefined) writeFailed(ctx, failedFile, batch.rows, outcomes)
  return exitCode
}

/** The rows that have no result yet. What was on its way at a kill is asked for again under the same key. */
export const resumeTransfers = async (
  ctx: CliContext,
  history: History,
  {
    retryFailed,
    rate,
    yes,
  }: { readonly retryFailed: boolean; readonly rate: number | undefined; readonly yes: boolean },
): Promise<ExitCode | undefined> => {
  const { header, transfers, outcomes, failures, sent } = history
  const rows = transfers.filter(({ row }) => {
    const outcome = outcomes.get(row)
    return outcome === undefined || (retryFailed && outcome.status === 'failed')
  })
  if (rows.length === 0) return undefined
  const isOpen = ({ row }: TransferRow) => sent.has(row) && !outcomes.has(row)
  const open = rows.filter(isOpen)
  const check = await checkTransfers(ctx, rows)
  if (ctx.flags.dryRun) return showCheck(ctx, rows, check)
  const days = (ctx.now().getTime() - Date.parse(header.startedAt)) / 86_400_000
  if (open.length > 0 && days > keyDays && !yes) {
    throw new UsageError(
      `Batch ${header.id} is ${Math.floor(days)} days old, and it is open whether ${counted(open.length, 'row')} were sent: the daemon no longer knows, and would transfer again.`,
      `Where the tokens are now: tapchip batch resume ${header.id} --dry-run · To send those rows all the same: --yes`,
    )
  }
  warnOfLimits(ctx, check)
  refuseUnpayable(check)
  const again = new Set(rows.map(({ row }) => row))
  const before = countResults([...outcomes.values()].filter(({ row }) => !again.has(row)))
  const journal = await takeUpBatch(ctx, header, rows.length)
  // A row that was on its way has its answer at the daemon: it is asked for, wherever the token is by now.
  const settled = unchangedIn(
    rows.filter((row) => !isOpen(row)),
    check,
  )
  return (await run(ctx, { id: header.id, journal, rows, settled, before, rate }, failures)).exitCode
}

const unchangedIn = (rows: readonly TransferRow[], { rows: checked }: TransferCheck) =>
  new Map<number, Outcome>(
    rows
      .filter(({ row }) => checked.get(row)?.status === 'unchanged')
      .map(({ row }) => [row, { row, status: 'unchanged' }]),
  )

const run = async (
  ctx: CliContext,
  batch: Pick<TokenRun<TransferRow>, 'id' | 'journal' | 'rows' | 'settled' | 'before' | 'rate'>,
  failures: ReadonlyMap<number, number>,
) => {
  const client = await ctx.client()
  return runTokenRows<TransferRow>(ctx, {
    ...batch,
    label: 'Transferring',
    done: 'transferred',
    requests,
    send: (rows) => sendRows(client, rows, (row) => `${batch.id}:${row}:${failures.get(row) ?? 0}`),
    describe: describeTransfer,
    next: () => `All rows: tapchip batch report ${batch.id}`,
  })
}

/**
 * @param keyOf names a row's transfer for ever: the same after a kill, another after it has failed, since what failed
 * moved nothing
 */
async function* sendRows(
  client: Client,
  rows: readonly TransferRow[],
  keyOf: (row: number) => string,
): AsyncGenerator<Heard> {
  const content = rows.map(
    ({ row, target, recipient }) =>
      `${JSON.stringify({ ...targetOnWire(target), recipient, idempotencyKey: keyOf(row) })}\n`,
  )
  const answers = client.stream('POST /phygitals/transfer/batch', {
    upload: { contentType: 'application/x-ndjson', content: [content.join('')] },
  })
  let count = 0
  for await (const { row: at, status, initialTxHash, error, code } of answers) {
    const sent = rows[at - 1]
    if (!sent) continue
    count += 1
    yield {
      row: sent.row,
      status,
      ...(initialTxHash === undefined ? {} : { initialTxHash }),
      ...(error === undefined ? {} : { error: rowWords(error, sent.target) }),
      ...(code === 'chain_unavailable' ? { isUnheard: true } : {}),
    }
  }
  if (count < rows.length)
    throw new CliError(`The daemon answered ${count} of ${rows.length} rows, and stopped.`)
}

const writeFailed = (
  ctx: CliContext,
  file: string,
  rows: readonly TransferRow[],
  outcomes: ReadonlyMap<number, Outcome>,
): void => {
  const failed = rows.filter(({ row }) => (outcomes.get(row)?.status ?? 'failed') === 'failed')
  const { heading, cells } = targetSheet((failed.length > 0 ? failed : rows).map(({ target }) => target))
  const lines = failed.map(({ target, recipient }) => [...cells(target), recipient])
  writeFailedRows(ctx, file, [...heading, 'recipient'], lines)
}
