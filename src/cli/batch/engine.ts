import { dirname } from 'node:path'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { counted } from '../io/text.ts'
import { settledIn, showDryRun } from './dry-run.ts'
import { type FailedFile, openFailedFile } from './failed-file.ts'
import { neverBegan } from './history.ts'
import { type SheetFlags, sheetOptions } from './input/flags.ts'
import { Problems } from './input/problems.ts'
import { readSheet } from './input/sheet.ts'
import { inputOf, openSource } from './input/source.ts'
import { assertSameDaemon } from './instance.ts'
import { countedAs, countResults, type Header, hasFailed, type Result, type Row } from './journal.ts'
import type { History, Kind, ResumeOptions, RowKind } from './kind.ts'
import { collectEarly } from './memory.ts'
import { beginJournal, reopenJournal, rowsLeft } from './open-journal.ts'
import { type Ended, sendRows } from './run.ts'

const needKey = (ctx: CliContext, { isAdmin = false }: { readonly isAdmin?: boolean }): void =>
  isAdmin ? ctx.needAdmin() : ctx.needApiKey()

export const startBatch = async <R extends Row, T extends Result, C>(
  ctx: CliContext,
  kind: RowKind<R, T, C>,
  batch: {
    readonly input: Header['input']
    readonly rows: readonly R[]
    /** Taken out once the journal has what it tells: it is as large as the rows. */
    check?: C | undefined
    readonly rate?: number | undefined
    readonly concurrency?: number | undefined
    readonly failedFile?: FailedFile | undefined
    readonly undoes?: string
  },
): Promise<Ended<T>> => {
  collectEarly(batch.rows.length)
  const { input, rate, concurrency, failedFile, undoes } = batch
  const settled = settledIn(kind, batch.rows, batch.check)
  const rows: R[] = []
  const prepared = function* (): Generator<R> {
    const { check } = batch
    for (const before of batch.rows) {
      const row = (check && kind.prepare?.(before, check)) ?? before
      rows.push(kind.sent?.(row, before) ?? row)
      yield row
    }
  }
  const about = { kind: kind.name, total: batch.rows.length, input, undoes }
  const begun = await beginJournal(ctx, about, { rows: prepared(), isAdmin: kind.isAdmin ?? false })
  if (failedFile === undefined) batch.check = undefined
  const ended = await sendRows(ctx, kind, { ...begun, rows, settled, failures: new Map(), rate, concurrency })
  if (failedFile === undefined) return ended
  const failed = batch.rows.filter(({ row }) => hasFailed(ended.outcomes.get(row)))
  const { heading, cells } = kind.sheetOf(failed.length > 0 ? failed : batch.rows, batch.check)
  const rowOf = new Map(failed.map((row) => [row.row, row]))
  const cellsOf = (row: number) => {
    const mine = rowOf.get(row)
    return mine === undefined ? [] : cells(mine)
  }
  const reasons = failed.map(({ row }) => ({ row, error: ended.outcomes.get(row)?.error ?? 'was not sent' }))
  failedFile.write(reasons, { heading, cells: cellsOf })
  return ended
}

export const runSheet = async <R extends Row, T extends Result, C>(
  ctx: CliContext,
  kind: RowKind<R, T, C>,
  file: string,
  flags: SheetFlags & {
    readonly rate: number | undefined
    readonly concurrency?: number | undefined
    readonly failed: string | undefined
    readonly yes?: boolean
  },
): Promise<ExitCode> => {
  needKey(ctx, kind)
  const { yes = false, rate, concurrency } = flags
  const { sheet } = kind
  const options = sheetOptions(flags, sheet)
  const failedFile = openFailedFile(ctx, flags.failed, file, options, sheet.files)
  const source = openSource(ctx.system, file)
  const problems = new Problems()
  const reader = sheet.parse(ctx, problems, source.path === undefined ? ctx.system.cwd : dirname(source.path))
  const rows: R[] = []
  await readSheet(source, options, problems, {
    ...failedFile?.reading,
    row: (at, cells) => {
      const row = reader.row(at, cells)
      if (row !== undefined) rows.push(row)
      collectEarly(rows.length)
    },
  })
  reader.finish?.(yes)
  if (rows.length === 0 || !kind.addProblems) problems.refuse(source.name)
  if (rows.length === 0) {
    ctx.io.note(`${source.name} has no rows. Nothing to do.`)
    return exitCodes.done
  }
  const ask = async (): Promise<{ readonly rows: readonly R[]; readonly check?: C | undefined }> => {
    const check = await kind.check?.(ctx, rows)
    if (check === undefined) return { rows }
    kind.addProblems?.(check, problems)
    const complete = reader.complete?.(rows, check)
    if (complete === undefined) return { rows, check }
    problems.refuse(source.name)
    const again = await kind.check?.(ctx, complete)
    if (again !== undefined) kind.addProblems?.(again, problems)
    return { rows: complete, check: again }
  }
  const batch = {
    ...(await (kind.addProblems ? problems.withAnswers(source.name, ask) : ask())),
    input: inputOf(source),
    rate,
    concurrency,
    failedFile,
  }
  if (ctx.flags.dryRun) return showDryRun(ctx, kind, batch.rows, batch.check)
  if (batch.check !== undefined) await kind.approve?.(ctx, batch.rows, batch.check, yes)
  return (await startBatch(ctx, kind, batch)).exitCode
}

export const resumeBatch = (
  ctx: CliContext,
  kind: Kind,
  history: History,
  options: ResumeOptions,
): Promise<ExitCode> => {
  if (options.concurrency !== undefined && kind.requests.isOrdered)
    throw new UsageError(
      `A batch of ${kind.name} has no --concurrency: its rows are sent in their order.`,
      'Leave it out.',
    )
  return resumeRows(ctx, kind, history, options)
}

const resumeRows = async (
  ctx: CliContext,
  kind: RowKind,
  history: History,
  options: ResumeOptions,
): Promise<ExitCode> => {
  needKey(ctx, kind)
  const { header, results, failures } = history
  if (history.rows.length < header.total)
    throw !history.isOwn && history.copy ? incomplete(header.id, history.copy.host) : neverBegan(header.id)
  const rows = history.rows.filter(({ row }) => {
    const result = results.get(row)
    return result === undefined || (options.retryFailed && result.status === 'failed')
  })
  if (rows.length === 0) {
    ctx.io.note('Every row has a result. Nothing to do.')
    return exitCodes.done
  }
  if (ctx.flags.dryRun) return showDryRun(ctx, kind, rows, await kind.check?.(ctx, rows))
  // The daemon may know the result of a row that was being sent, whatever the check says now: the row is sent again.
  // Results of another machine that was cut off may not have reached the daemon.
  const isCutOff = !history.isOwn && !history.hasEnd
  const isOpen = ({ row }: Row) => (isCutOff || history.sent.has(row)) && !results.has(row)
  const { yes, rate } = options
  const check = await kind.beforeResume?.(ctx, rows, { header, open: rows.filter(isOpen).length, yes })
  const settled = settledIn(
    kind,
    rows.filter((row) => !isOpen(row)),
    check,
  )
  const again = new Set(rows.map(({ row }) => row))
  const before = countResults([...results.values()].filter(({ row }) => !again.has(row)))
  const { id, total } = header
  const { takeOver, concurrency } = options
  const opened = rows.filter((row) => (isCutOff && isOpen(row)) || results.has(row.row)).map(({ row }) => row)
  const journal = await reopenJournal(
    ctx,
    { ...history, isAdmin: kind.isAdmin ?? false, before, takeOver },
    rowsLeft(rows.length, total),
    opened,
  )
  const sending = { id, journal, rows, settled, failures, before, rate, concurrency }
  return (await sendRows(ctx, kind, sending)).exitCode
}

const incomplete = (id: string, host: string): CliError =>
  new CliError(
    `The daemon's copy of batch ${id} does not have all its rows: ${host} was cut off too early.`,
    {
      advice: `Resume it there, or start it again from its input.`,
    },
  )

/** Undoes a batch as a batch of its own. */
export const undoBatch = async (
  ctx: CliContext,
  kind: Kind,
  history: History,
  { yes, rate }: Pick<ResumeOptions, 'yes' | 'rate'>,
): Promise<ExitCode> => {
  const { undo } = kind
  const { id } = history.header
  if ('refusal' in undo) throw new UsageError(undo.refusal, undo.advice?.(id))
  if (history.status === 'running')
    throw new CliError(`Batch ${id} is still running, as process ${history.header.pid}.`, {
      advice: 'Stop it with Ctrl-C, or wait until it ends. Then undo it.',
    })
  const by = undo.as ?? kind
  needKey(ctx, by)
  await assertSameDaemon(ctx, history.header)
  const rows = rowsToRestore(history, undo)
  if (rows.length === 0) {
    ctx.io.note(`${undo.nothing} Nothing to do.`)
    return exitCodes.done
  }
  const check = await by.check?.(ctx, rows)
  if (ctx.flags.dryRun) return showDryRun(ctx, by, rows, check)
  const { done, others } = foreseenIn(by, rows, check)
  // With nothing to restore there is nothing to confirm: each row says why.
  if (done > 0) await ctx.prompts.confirm(yes, `${undo.question(done)}${othersStay(others)}`)
  const input = { name: `undo of ${id}`, path: null, sha256: null }
  const batch = { input, rows, check, rate, undoes: id }
  return (await startBatch(ctx, { ...by, name: undo.name }, batch)).exitCode
}

/** How many rows the check expects to change something. */
const foreseenIn = (by: RowKind, rows: readonly Row[], check: unknown) => {
  const statusOf = (row: Row) => by.foreseen?.(row, check)?.status ?? 'changed'
  const done = rows.filter((row) => {
    const status = statusOf(row)
    return status !== 'invalid' && countedAs[status] === 'changed'
  }).length
  return { done, others: rows.length - done }
}

const othersStay = (count: number): string =>
  count === 0
    ? ''
    : ` ${counted(count, 'other row stays as it is', 'other rows stay as they are')}: --dry-run says why.`

const rowsToRestore = (history: History, undo: Extract<RowKind['undo'], { name: string }>): readonly Row[] =>
  history.rows.flatMap((row) => {
    const result = history.results.get(row.row)
    const times = history.sent.get(row.row) ?? 0
    // A row that was being sent when the process was killed may have been written, also if it was found unchanged when
    // it was sent again. The check saw the previous value, and the row expects ours: one that was never written is left
    // alone.
    const mayBeOurs = result === undefined ? times > 0 : result.status === 'unchanged' && times > 1
    const isDone = result !== undefined && countedAs[result.status] === 'changed'
    return ((isDone || mayBeOurs) && undo.row(row, result, history.header.id)) || []
  })
