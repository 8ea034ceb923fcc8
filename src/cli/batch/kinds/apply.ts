import { appliedColumns } from '../../../values/chip-row.ts'
import { exitCodes } from '../../errors.ts'
import { counted } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { checkWithDaemon } from '../answers.ts'
import { Problems } from '../input/problems.ts'
import { addDoubts, isOfNxp } from '../input/uid-column.ts'
import type { RowKind } from '../kind.ts'
import { countPlan, planLines, planTotals } from './apply-plan.ts'
import {
  type ApplyPlan,
  type ApplyResult,
  type ApplyRow,
  describeApplied,
  isResult,
  isRow,
  named,
  otherColumns,
  sendApplied,
  type Value,
  type Values,
} from './apply-row.ts'
import { applySheet } from './apply-sheet.ts'

export const apply: RowKind<ApplyRow, ApplyResult, ApplyPlan> = {
  name: 'chips apply',
  isAdmin: true,
  sheet: applySheet,
  isRow,
  isResult,
  check: (ctx, rows) =>
    checkWithDaemon(ctx, 'written', async (signal) => {
      const client = await ctx.client()
      const plan = new Map<number, ApplyResult>()
      for await (const result of sendApplied(client, rows, true)) {
        if (signal.aborted) break
        plan.set(result.row, result)
      }
      return plan
    }),
  show: async (ctx, rows, check = new Map()) => {
    const counts = countPlan(check.values())
    if (ctx.io.json) {
      for (const { row } of rows) {
        const result = check.get(row)
        if (result) await ctx.io.line(result, () => '')
      }
    } else {
      ctx.io.raw(`${planTotals(counts)}\n`)
      for (const line of planLines(rows, check)) ctx.io.raw(`${line}\n`)
    }
    ctx.io.note('Dry run: nothing was written.')
    return counts.failed + counts.conflict > 0 ? exitCodes.partial : exitCodes.done
  },
  approve: async (ctx, rows, check, yes) => {
    if (!yes) refuseDoubts(rows, check)
    const counts = countPlan(check.values())
    ctx.io.note(planTotals(counts))
    if (!ctx.io.json) for (const line of planLines(rows, check)) ctx.io.note(line)
    if (ctx.prompts.possible && counts.created + counts.changed > 0)
      await ctx.prompts.confirm(yes, `Apply this to ${counted(counts.created + counts.changed, 'chip')}?`)
  },
  prepare: (row, check) => {
    const { status, changes, uid } = check.get(row.row) ?? {}
    return changes === undefined
      ? row
      : { ...row, uid: row.uid ?? uid ?? undefined, planned: status, previous: changes }
  },
  sent: ({ uid }, before) => (uid === before.uid ? before : { ...before, uid }),
  foreseen: ({ row }, check) => check.get(row),
  settle: ({ row }, check) => {
    const seen = check.get(row)
    return seen?.status === 'unchanged' ? seen : undefined
  },
  requests: { rows: 20_000, atOnce: 1, isOrdered: true },
  endpoint: 'POST /admin/chips/apply',
  send: (client, rows) => sendApplied(client, rows, false),
  label: 'Applying',
  countedStatuses: ['changed', 'unchanged', 'failed'],
  next: (id, { changed }) => (changed > 0 ? `Undo it: tapchip batch undo ${id}` : ''),
  remark: (outcomes) => {
    const { created, conflict } = countPlan(outcomes)
    const parts = [
      ...(created > 0 ? [`${counted(created, 'chip was', 'chips were')} created`] : []),
      ...(conflict > 0 ? [`${counted(conflict, 'row is a conflict', 'rows are conflicts')}`] : []),
    ]
    return parts.length === 0 ? undefined : `Of these, ${parts.join(', and ')}.`
  },
  describe: describeApplied,
  about: ({ uid, byLabel }) => ({ uid: uid ?? null, ...(byLabel === undefined ? {} : { label: byLabel }) }),
  pending: (row) => `${named(row)}  `,
  sheetOf: (rows) => {
    const columns = appliedColumns.filter((column) => rows.some(({ values }) => values[column] !== undefined))
    const others = otherColumns.filter((column) => rows.some((row) => row[column] !== undefined))
    const byLabel = rows.some((row) => row.byLabel !== undefined)
    const heading = [
      ...(rows.some(({ uid }) => uid !== undefined) ? ['uid'] : []),
      ...(byLabel && !columns.includes('label') ? ['label'] : []),
      ...columns,
      ...others,
    ]
    return {
      heading,
      cells: (row) =>
        heading.map((column) => {
          if (column === 'uid')
            return row.uid === undefined || row.byLabel !== undefined ? '' : colons(row.uid)
          if (column === 'label' && row.byLabel !== undefined) return row.byLabel
          const known: Readonly<Record<string, Value | undefined>> = {
            ...row.values,
            publicKey: row.publicKey,
            lastCounter: row.lastCounter,
            revision: row.revision,
          }
          return String(known[column] ?? '')
        }),
    }
  },
  undo: {
    name: 'chips apply undo',
    question: (count) => `Restore ${counted(count, 'chip')}?`,
    nothing: 'The batch changed nothing.',
    row: (row, result) => restoring(row, result),
  },
}

/** UIDs of chips that are there are not doubted. */
const refuseDoubts = (rows: readonly ApplyRow[], check: ApplyPlan): void => {
  const problems = new Problems()
  addDoubts(
    problems,
    rows.flatMap(({ row, uid, publicKey }) =>
      uid === undefined || publicKey || isOfNxp(uid) || check.get(row)?.status !== 'created'
        ? []
        : [{ row, text: colons(uid) }],
    ),
  )
  problems.refuse('The sheet')
}

/** The rows of these batches say `remove: 'always'`. */
export const removal: typeof apply = {
  ...apply,
  name: 'chips remove',
  label: 'Removing',
  countedStatuses: ['removed', 'unchanged', 'failed'],
  // A chip that is not there before the batch was never there; later, the batch itself may have removed it.
  check: async (ctx, rows) => {
    const plan = new Map(await apply.check?.(ctx, rows))
    for (const [row, result] of plan)
      if (result.status === 'unchanged')
        plan.set(row, { ...result, status: 'failed', error: 'The team has no such chip. Check the UID.' })
    return plan
  },
  settle: ({ row }, check) => {
    const seen = check.get(row)
    return seen?.status === 'failed' ? seen : undefined
  },
  next: () => '',
  remark: () => undefined,
  undo: {
    refusal: 'A removal cannot be undone: the links and assignments of the chips are gone.',
    advice: () =>
      'To register the chips again: tapchip chips import. Their counters go on from where they were.',
  },
}

const nothing: Values = Object.fromEntries(
  appliedColumns.map((column) => [column, column === 'disabled' ? false : null]),
)

/** A row that takes a row back; the daemon leaves alone what somebody changed since. */
const restoring = (row: ApplyRow, result: ApplyResult | undefined): ApplyRow | undefined => {
  const status = result?.status === 'unchanged' ? row.planned : (result?.status ?? row.planned)
  const changes = result?.changes ?? row.previous
  const { row: number, uid = result?.uid ?? undefined, team, values, publicKey, lastCounter } = row
  const same = { row: number, uid, team, publicKey, lastCounter }
  if (status === 'removed') return { ...same, values }
  if (changes === undefined || uid === undefined) return undefined
  const side = (which: 'from' | 'to'): Values =>
    Object.fromEntries(
      Object.entries(changes).flatMap(([column, change]) => (change ? [[column, change[which]]] : [])),
    )
  if (status === 'created') {
    const to = side('to')
    return { ...same, values: to, expected: { ...nothing, ...to }, remove: true }
  }
  return status === 'changed'
    ? { row: number, uid, team, values: side('from'), expected: side('to') }
    : undefined
}
