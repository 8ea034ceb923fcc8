import { uidOnWire } from '../../../../nfc/uid.ts'
import { isJsonObject } from '../../../../values/json.ts'
import { type EditResult, type EditRow, editRowsIn, planEdits, readEdit } from '../../chips/edit-batch.ts'
import { iso } from '../../time/time.ts'
import type { PlannedRow, RowResult, WrittenKind } from '../kind.ts'

/** `redirectUrl`: in a plan, where taps would lead. */
type Result = RowResult & Pick<EditResult, 'uid' | 'previous'> & { readonly redirectUrl?: string | null }

/** A chip that already has the value to be restored counts as done, whatever happened in between. */
function asResult({ value }: EditRow, result: EditResult): Result {
  const { status, previous } = result
  if (status !== 'failed' || previous === undefined) return result
  if (previous === value.redirectUrl)
    return { row: result.row, uid: result.uid, status: 'unchanged', previous }
  return { ...result, status: 'conflict' }
}

/** The current values must equal those in the plan. */
function bound({ row, planned }: PlannedRow<EditRow, Result>): EditRow {
  const seen = planned?.previous
  return seen === undefined ? row : { ...row, value: { ...row.value, expected: seen } }
}

/** API keys may only set redirect URLs. */
export const chipsEdit: WrittenKind<EditRow, Result> = {
  names: ['chips edit'],
  how: 'written',
  isAdmin: false,
  scope: 'edit',
  rowsPerWrite: { min: 50, max: 500 },
  readRow: (line) => {
    const read = readEdit(line)
    const row = isJsonObject(line) ? Number(line.row) : 0
    return 'problem' in read ? read : { value: { row, value: read.value } }
  },
  plan: async ({ db }, { teamId }, rows) =>
    (await planEdits(db.read, teamId, rows)).flatMap((result, at) => {
      const row = rows[at]
      return row ? { ...asResult(row, result), redirectUrl: row.value.redirectUrl } : []
    }),
  write: async (trx, { clock }, { teamId, actor }, rows) => {
    const tried = rows.filter(({ planned }) => planned?.status !== 'failed' && planned?.status !== 'conflict')
    const caller = { teamId, actor, at: iso(clock.now()) }
    const results = new Map<number, Result>()
    for (const [at, result] of (await editRowsIn(trx, caller, tried.map(bound))).entries()) {
      const one = tried[at]
      if (one) results.set(one.row.row, one.planned ? changedSince(result) : asResult(one.row, result))
    }
    return rows.flatMap(
      ({ row, planned }) => results.get(row.row) ?? (planned && withoutTarget(planned)) ?? [],
    )
  },
  undo: {
    kind: 'chips edit',
    row: ({ row, value }, { uid, status, previous }) =>
      status === 'changed' && previous !== undefined
        ? {
            row,
            uid: uidOnWire(uid),
            redirectUrl: previous,
            expected: value.redirectUrl,
          }
        : undefined,
  },
}

const withoutTarget = ({ redirectUrl: _, ...result }: Result): Result => result

const changedSince = (result: EditResult): Result =>
  result.status === 'failed' && result.previous !== undefined
    ? {
        ...result,
        status: 'conflict',
        error: 'The redirect URL was changed since the batch was planned, and is left as it is.',
      }
    : result
