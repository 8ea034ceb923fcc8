import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { formatNumber } from '../io/text.ts'
import type { BatchApi } from './batch-api.ts'
import { isBad, type KindMessages, type RowResult, type Totals } from './sheet-kind.ts'

// Nobody reads more; --json has every row.
const rowsBeforeQuestion = 20
const rowsOfDryRun = 100

export interface Plan {
  readonly totals: Totals
  readonly costs: object | undefined
}

interface PlanOptions {
  /** Prints the rows on standard output, as a dry run does. */
  readonly isDryRun: boolean
  onRow?(result: RowResult): void
  /** Called after the last row, before any is shown. @throws UsageError to refuse the rows */
  check?(totals: Totals): void
  readonly signal: AbortSignal
}

/** Has the daemon plan a batch, and shows what it would do. */
export const planBatch = async (
  ctx: CliContext,
  api: BatchApi,
  id: string,
  messages: KindMessages,
  { isDryRun, onRow, check, signal }: PlanOptions,
): Promise<Plan> => {
  const { io } = ctx
  const lines: string[] = []
  const maxShown = isDryRun && messages.planTotals === undefined ? rowsOfDryRun : rowsBeforeQuestion
  const isShown = (result: RowResult) =>
    messages.isQuiet
      ? isBad(result)
      : result.status !== 'unchanged' || (isDryRun && messages.planTotals === undefined)
  let plan: Plan = { totals: {}, costs: undefined }
  let shown = 0
  // Before a run, rows are shown to whoever is asked, and where there is much to say of them.
  const showsRows = isDryRun || messages.isPlanShown === true || ctx.prompts.possible
  const report = isDryRun || onRow !== undefined || (showsRows && !io.json) ? 'all' : 'none'
  for await (const line of api.plan(id, report, signal)) {
    if (!('row' in line)) {
      plan = { totals: line.totals, costs: line.costs }
      continue
    }
    onRow?.(line)
    if (io.json) {
      if (isDryRun) await io.line(messages.shown?.(line, 'plan') ?? line, () => '')
    } else if (isShown(line)) {
      shown += 1
      if (shown <= maxShown) lines.push(messages.describe(line, true))
    }
  }
  if (signal.aborted) return plan
  check?.(plan.totals)
  const print = async (text: string): Promise<void> => {
    if (isDryRun && !io.json) await io.raw(`${text}\n`)
    else io.note(text)
  }
  const totals = (messages.planTotals ?? planTotals)(plan.totals)
  const before = messages.beforeRun ? messages.beforeRun(plan.totals) : showsRows ? totals : undefined
  if (!isDryRun && before !== undefined) io.note(before)
  if (isDryRun && messages.planTotals !== undefined && !io.json) await print(totals)
  if (showsRows) for (const line of lines) await print(line)
  if (showsRows && shown > lines.length) {
    const more = `… and ${formatNumber(shown - lines.length)} more`
    if (messages.planTotals === undefined && isDryRun) io.note(`${more} rows. See all of them: --json`)
    else await print(`${more}; see all of them: --dry-run --json`)
  }
  if (plan.costs !== undefined) await messages.showCosts?.(ctx, plan.costs)
  return plan
}

export const endOfDryRun = (ctx: CliContext, messages: KindMessages, { totals }: Plan): ExitCode => {
  const changed = formatNumber(changedIn(totals))
  const unchanged = formatNumber(totals.unchanged ?? 0)
  const failed = formatNumber(badIn(totals))
  const nothing = messages.planTotals && 'Dry run: nothing was written.'
  ctx.io.note(
    messages.dryRun?.(totals) ??
      nothing ??
      `Dry run: ${changed} would change, ${unchanged} unchanged, ${failed} would fail. Nothing was written.`,
  )
  return badIn(totals) > 0 ? exitCodes.partial : exitCodes.done
}

const changing = [
  'changed',
  'created',
  'assigned',
  'unassigned',
  'transferred',
  'minted',
  'queued',
  'removed',
] as const

/** Rows that the plan expects to change something. */
export const changedIn = (totals: Totals): number =>
  changing.reduce((sum, status) => sum + (totals[status] ?? 0), 0)

const badIn = ({ failed = 0, conflict = 0 }: Totals): number => failed + conflict

export const planTotals = (totals: Totals): string =>
  [
    `Plan: ${formatNumber(changedIn(totals))} to change`,
    `${formatNumber(totals.unchanged ?? 0)} unchanged`,
    ...(totals.conflict ? [`${formatNumber(totals.conflict)} in conflict`] : []),
    `${formatNumber(totals.failed ?? 0)} would fail.`,
  ].join(', ')

const doings = ['unlinks', 'disables', 'removes', 'transfers'] as const

const countOf = (totals: Totals, does: (typeof doings)[number]): number => {
  const { removed = 0, transferred = 0 } = totals
  return totals[does] ?? { unlinks: 0, disables: 0, removes: removed, transfers: transferred }[does]
}

/** The irreversible part of a question: ` (unlinks 5,000, disables 4,998)`. */
export const describeEffects = (totals: Totals): string => {
  const parts = doings.flatMap((does) => {
    const count = countOf(totals, does)
    return count > 0 ? [`${does} ${formatNumber(count)}`] : []
  })
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

/** Off a terminal, such a plan needs --yes. */
export const isGrave = (totals: Totals): boolean => doings.some((does) => countOf(totals, does) > 0)
