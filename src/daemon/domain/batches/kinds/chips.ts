import { isDeepStrictEqual } from 'node:util'
import { uidToHex } from '../../../../nfc/uid.ts'
import { appliedColumns } from '../../../../values/chip-columns.ts'
import { isJsonObject } from '../../../../values/json.ts'
import { permits } from '../../../../values/scopes.ts'
import type { Queries } from '../../../store/database/database.ts'
import type { PlannedStep } from '../../chips/apply-change.ts'
import { type AppliedRow, ApplyRun, resultOf } from '../../chips/apply-chips.ts'
import { planRows } from '../../chips/apply-plan.ts'
import { type AppliedValues, type ApplyRow, readApplyLine, valuesOf } from '../../chips/apply-row.ts'
import { withRollback } from '../../dry-run/dry-run.ts'
import type { BatchDeps, BatchRun, PlannedRow, WrittenKind } from '../kind.ts'

interface Row {
  readonly row: number
  readonly value: ApplyRow
}

/** `was`: the state of a chip that is to be removed. */
type Result = AppliedRow & { readonly was?: AppliedValues | undefined }

/** Trial registrations run in writes of this many rows, because they delay taps. */
const rowsPerTry = 100

const readRow: WrittenKind<Row, Result>['readRow'] = (line) => {
  if (!isJsonObject(line)) return { problem: 'must be an object' }
  const { row, ...cells } = line
  const read = readApplyLine(cells)
  return 'problem' in read ? read : { value: { row: Number(row), value: read.value } }
}

const callerOf = ({ teamId, scopes, actor, settings }: BatchRun) => ({
  teamId,
  actor,
  mayBind: permits(scopes, 'transfer'),
  reason: typeof settings.reason === 'string' ? settings.reason : undefined,
})

async function plan(
  deps: BatchDeps,
  run: BatchRun,
  rows: readonly Row[],
  seen: Map<string, number>,
): Promise<Result[]> {
  const caller = callerOf(run)
  const results: Result[] = []
  for (let from = 0; from < rows.length; from += rowsPerTry) {
    const some = rows.slice(from, from + rowsPerTry)
    const decide = (db: Queries) => planRows({ db, keyRing: deps.keyRing }, caller, some, seen)
    const planned = await decide(deps.db.read)
    const isCreating = planned.some(({ status }) => status === 'created')
    const tried = isCreating
      ? await withRollback(deps.db, async (trx) => new ApplyRun(trx, deps, caller).apply(await decide(trx)))
      : planned.map(resultOf)
    for (const [at, result] of tried.entries()) results.push({ ...result, ...previousOf(planned[at]) })
  }
  return results
}

const previousOf = (planned: PlannedStep | undefined) =>
  planned?.status === 'removed' && 'chip' in planned ? { was: valuesOf(planned.chip) } : {}

async function write(
  trx: Queries,
  deps: BatchDeps,
  run: BatchRun,
  rows: readonly PlannedRow<Row, Result>[],
): Promise<Result[]> {
  const caller = callerOf(run)
  const results = new Map<number, Result>()
  for (const { row, planned } of rows)
    if (planned?.status === 'failed' || planned?.status === 'conflict') results.set(row.row, shownOf(planned))
  // A skipped row keeps its label, which may affect other rows.
  for (;;) {
    const remaining = rows.filter(({ row }) => !results.has(row.row))
    const decided = await planRows(
      { db: trx, keyRing: deps.keyRing },
      caller,
      remaining.map(({ row }) => row),
      new Map(),
    )
    const isOther = decided.map((now, at) => isOtherThan(remaining[at]?.planned, now))
    if (!isOther.includes(true)) {
      for (const result of await new ApplyRun(trx, deps, caller).apply(decided))
        results.set(result.row, result)
      break
    }
    for (const [at, now] of decided.entries())
      if (isOther[at])
        results.set(now.row, { row: now.row, uid: now.uid, status: 'conflict', error: conflictError })
  }
  return rows.flatMap(({ row }) => results.get(row.row) ?? [])
}

const conflictError = 'The chip was changed since the batch was planned, and is left as it is.'

const shownOf = ({ was: _, ...result }: Result): Result => result

/** The row would no longer do what its plan said. */
function isOtherThan(planned: Result | undefined, now: PlannedStep): boolean {
  if (planned === undefined || now.status === 'failed' || now.status === 'conflict') return false
  if (planned.status !== now.status) return true
  if (now.status === 'changed') return !isDeepStrictEqual(planned.changes, now.changes)
  return now.status === 'removed' && !isDeepStrictEqual(planned.was, previousOf(now).was)
}

/** Counts for the confirmation question. */
function totals(_rows: readonly Row[], results: readonly Result[]): Record<string, number> {
  const counts = { moves: 0, unlinks: 0, disables: 0 }
  for (const { status, changes } of results) {
    if (status !== 'changed' || changes === undefined) continue
    const { chipGroup, tokenId, item, disabled } = changes
    if (chipGroup) counts.moves += 1
    if (tokenId?.to === null || item?.to === null) counts.unlinks += 1
    if (disabled?.to === true) counts.disables += 1
  }
  return counts
}

const nothing = Object.fromEntries(
  appliedColumns.map((column) => [column, column === 'disabled' ? false : null]),
)

/** Leaves alone whatever somebody has changed since. */
function restoringRow({ row, value }: Row, { status, uid, changes = {} }: Result): object | undefined {
  const { publicKey, lastCounter, wishes } = value
  if (uid === null) return undefined
  const same = { row, uid: uid.length === 14 ? uidToHex(uid) : uid, publicKey, lastCounter }
  const side = (which: 'from' | 'to') =>
    Object.fromEntries(Object.entries(changes).map(([column, change]) => [column, change?.[which]]))
  if (status === 'removed') return { ...same, ...wishes }
  if (status === 'created') {
    const to = side('to')
    return { ...same, ...to, expected: { ...nothing, ...to }, remove: true }
  }
  return status === 'changed' ? { row, uid: same.uid, ...side('from'), expected: side('to') } : undefined
}

export const chipsApply: WrittenKind<Row, Result> = {
  names: [
    'chips apply',
    'chips disable',
    'chips enable',
    'chips link',
    'chips unlink',
    'chips move',
    'chips rename',
    'chips replace',
  ],
  how: 'written',
  isAdmin: true,
  scope: 'edit',
  rowsPerWrite: { min: 125, max: 500 },
  readRow,
  plan,
  write,
  totals,
  undo: { kind: 'chips apply', row: restoringRow },
}

/** A chip that did not exist before the batch. */
const notFoundResult = (result: Result): Result =>
  result.status === 'unchanged'
    ? { ...result, status: 'failed', error: 'The team has no such chip. Check the UID.' }
    : result

export const chipsRemove: WrittenKind<Row, Result> = {
  ...chipsApply,
  names: ['chips remove'],
  plan: async (...args) => (await plan(...args)).map(notFoundResult),
  write: async (...args) => (await write(...args)).map(notFoundResult),
  undo: {
    refusal: 'A removal cannot be undone: the links and assignments of the chips are gone.',
    advice: 'To register the chips again: tapchip chips import. Their counters continue where they were.',
  },
}
