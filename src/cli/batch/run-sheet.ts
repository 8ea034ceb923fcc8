import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { type FailedFile, openFailedFile } from './failed-file.ts'
import { type RunFlags, type SheetFlags, sheetOptions } from './input/flags.ts'
import { Problems } from './input/problems.ts'
import { readSheet } from './input/sheet.ts'
import { openSource } from './input/source.ts'
import { RowLines } from './row-lines.ts'
import { isBad, type KindMessages, type RowResult, type SheetKind, type SheetRow } from './sheet-kind.ts'
import { type Submission, type SubmitResult, submitBatch } from './submit.ts'

interface Rest extends Pick<Submission, 'ask'> {
  /** Settings for all rows. Called once the sheet is read. */
  settings?(): Promise<Readonly<Record<string, unknown>>>
  /** Called after a run, not after a dry run. */
  ended?(submitted: SubmitResult): Promise<void>
}

/** Checks a whole sheet, and runs it as a batch. */
export const runSheet = async <R extends SheetRow>(
  ctx: CliContext,
  kind: SheetKind<R>,
  file: string,
  flags: SheetFlags &
    RunFlags & {
      readonly failed: string | undefined
      readonly yes?: boolean
      readonly team?: string | undefined
    },
  rest: Rest = {},
): Promise<ExitCode> => {
  if (kind.isAdmin) ctx.needAdmin()
  else ctx.needApiKey()
  const { sheet } = kind
  const { yes = false, team } = flags
  const options = sheetOptions(flags, sheet)
  const failedFile = openFailedFile(ctx, flags.failed, file, options, sheet.files)
  const source = openSource(ctx.system, file)
  const problems = new Problems()
  const reader = sheet.parse(ctx, problems, source.path === undefined ? ctx.system.cwd : dirname(source.path))
  const lines = new RowLines()
  const kept: R[] = []
  const isKept = reader.complete !== undefined || failedFile !== undefined
  const add = (row: R): void => lines.add(row, kind.line(row))
  await readSheet(source, options, problems, {
    ...failedFile?.reading,
    ...(reader.columns ? { columns: reader.columns } : {}),
    row: (at, cells) => {
      const row = reader.row(at, cells)
      if (row === undefined) return
      if (isKept) kept.push(row)
      if (reader.complete === undefined) add(row)
      tuneGarbageCollection(kept.length + lines.count)
    },
  })
  reader.finish?.(yes)
  const isEmpty = lines.count + kept.length === 0
  if (isEmpty || !sheet.isCheckedByPlan) problems.refuse(source.name)
  if (isEmpty) {
    ctx.io.note(`${source.name} has no rows. Nothing to do.`)
    return exitCodes.done
  }
  const failures = failedFile && new Failures(kind, failedFile)
  const run = async (): Promise<SubmitResult> => {
    const rows = (await reader.complete?.(kept)) ?? kept
    if (reader.complete !== undefined) for (const row of rows) add(row)
    if (lines.count === 0) problems.refuse(source.name)
    failures?.keep(rows)
    const { ask } = rest
    const settings = await rest.settings?.()
    return submitBatch(ctx, kind, {
      ...{ lines, team, isPlanned: kind.isPlanned, flags: { ...flags, yes } },
      ...(ask && { ask }),
      settings,
      files: reader.files?.(),
      ...(reader.planned && { onPlanned: (result) => reader.planned?.(result) }),
      checkPlan: () => problems.refuse(source.name),
      ...(failures && { onResult: (result) => failures.see(result) }),
    })
  }
  // If the problems known so far are enough to refuse the sheet, the daemon need not answer.
  const submitted = await run().catch((error: unknown) => {
    problems.refuse(source.name)
    throw error
  })
  if (ctx.flags.dryRun) return submitted.exitCode
  failures?.write(ctx, submitted)
  await rest.ended?.(submitted)
  return submitted.exitCode
}

/** Runs rows that no sheet holds, as of chips that flags select. */
export const runRows = <R extends SheetRow>(
  ctx: CliContext,
  kind: KindMessages & Pick<SheetKind<R>, 'line'>,
  rows: Iterable<R>,
  submission: Omit<Submission, 'lines'>,
): Promise<SubmitResult> => {
  const lines = new RowLines()
  for (const row of rows) lines.add(row, kind.line(row))
  tuneGarbageCollection(lines.count)
  return submitBatch(ctx, kind, { ...submission, lines })
}

/** The rows for --failed. */
class Failures<R extends SheetRow> {
  readonly #kind: SheetKind<R>
  readonly #file: FailedFile
  readonly #errors = new Map<number, string>()
  #rows: readonly R[] = []
  /** Results come in the order of the rows. */
  #last = 0

  constructor(kind: SheetKind<R>, file: FailedFile) {
    this.#kind = kind
    this.#file = file
  }

  keep(rows: readonly R[]): void {
    this.#rows = rows
  }

  see(result: RowResult): void {
    this.#last = Math.max(this.#last, result.row)
    if (isBad(result)) this.#errors.set(result.row, result.error ?? 'failed')
  }

  write(ctx: CliContext, { batch, isDone }: SubmitResult): void {
    if (this.#last === 0) {
      ctx.io.note(
        `Which rows fail is not known yet. See it later: tapchip batch report ${batch?.id} --failed`,
      )
      return
    }
    const failed = this.#rows.flatMap((row) => {
      const error =
        this.#errors.get(row.row) ?? (isDone || row.row <= this.#last ? undefined : 'was not handled')
      return error === undefined ? [] : [{ row, error }]
    })
    const { heading, cells } = this.#kind.sheetOf(
      failed.length > 0 ? failed.map(({ row }) => row) : this.#rows,
    )
    const rowOf = new Map(failed.map(({ row }) => [row.row, row]))
    const cellsOf = (at: number): readonly string[] => {
      const row = rowOf.get(at)
      return row === undefined ? [] : cells(row)
    }
    this.#file.write(
      failed.map(({ row, error }) => ({ row: row.row, error })),
      { heading, cells: cellsOf },
    )
  }
}

/** Fewer rows take little memory, and the time is better spent on them. */
const manyRows = 10_000

let isEarly = false

/**
 * Makes V8 collect garbage early, at the cost of some CPU time: a sheet of 100,000 rows leaves far more garbage than it
 * keeps, and the machine that sends it may be a small one. Call it with the number of rows that there are so far.
 */
export const tuneGarbageCollection = (rows: number): void => {
  if (isEarly || rows < manyRows) return
  isEarly = true
  // The first lets the heap grow by a third at a time, the second keeps garbage in the space that is cleared quickly.
  for (const flag of ['--optimize-for-size', '--semi-space-growth-factor=1']) setFlagsFromString(flag)
}
