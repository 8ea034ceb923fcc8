import { type AppliedChip, appliedChips, chipsLabelled } from '../../store/chips/applied-chips.ts'
import { hasAssignments } from '../../store/chips/chip-records.ts'
import { existingLabels } from '../../store/chips/chip-registration.ts'
import { findChips } from '../../store/chips/chips.ts'
import type { Queries } from '../../store/database/database.ts'
import { type ApplyCaller, isStale, type NumberedRow, type PlannedStep, Planner } from './apply-change.ts'
import { valuesOf } from './apply-row.ts'
import { type Refusal, readRow } from './chip-input.ts'
import type { KeyRing } from './key-ring.ts'

function newChip(planner: Planner, { row, value }: NumberedRow): PlannedStep | Promise<PlannedStep> {
  const uid = value.uids[0] ?? null
  const fail = (error: string, status: 'failed' | 'conflict' = 'failed') => ({ row, uid, status, error })
  if (value.remove) return { row, uid, status: 'unchanged' }
  if (uid === null)
    return fail(
      `No chip of the team has the label "${value.byLabel}". Check the label, or name the chip by its uid.`,
    )
  if (value.revision !== undefined)
    return fail(
      'The chip was removed in the meantime. To register it again, leave out the revision.',
      'conflict',
    )
  const { chipGroup, keySet } = value.wishes
  const isHalo = value.publicKey !== undefined
  if (!chipGroup || (!isHalo && keySet == null))
    return fail(
      'The team has no such chip. Check the UID; to register the chip, the row needs chipGroup and keySet.',
    )
  return registration(planner, { row, value }, uid)
}

async function registration(
  planner: Planner,
  { row, value }: NumberedRow,
  uid: string,
): Promise<PlannedStep> {
  const { keySet = null, chipGroup } = value.wishes
  const fail = ({ reason }: Refusal) => ({ row, uid, status: 'failed' as const, error: `${reason}.` })
  const { chipGroup: _, keySet: __, ...cells } = value.cells
  const input = readRow({ ...cells, uid: undefined })
  if ('reason' in input) return fail(input)
  const group = await planner.groupNamed(chipGroup)
  if (typeof group !== 'string') return fail(group)
  const refusal = keySet === null ? undefined : await planner.refuseUnknown(keySet)
  if (refusal) return fail(refusal)
  return { row, uid, status: 'created', value, input: { ...input, uid }, chipGroup: group, keySet }
}

async function removal(db: Queries, { row, value }: NumberedRow, chip: AppliedChip): Promise<PlannedStep> {
  const { uid } = chip
  if (value.remove === 'always') return { row, uid, status: 'removed', chip }
  const [fullChip] = await findChips(db, [uid])
  const isTapped = fullChip?.lastTapAt != null || chip.lastCounter > (value.lastCounter ?? -1)
  const isTouched =
    isTapped ||
    chip.replacedBy !== null ||
    isStale(value, chip, valuesOf(chip)) ||
    (await hasAssignments(db, uid))
  return isTouched
    ? {
        row,
        uid,
        status: 'conflict',
        error:
          'The chip was tapped, changed, or assigned to events since it was registered, and is left as it is.',
      }
    : { row, uid, status: 'removed', chip }
}

/** Decides on each row without writing. @param named UIDs of earlier rows, to which it adds those of these rows */
export async function planRows(
  { db, keyRing }: { db: Queries; keyRing: KeyRing },
  caller: ApplyCaller,
  rows: readonly NumberedRow[],
  named: Map<string, number>,
): Promise<PlannedStep[]> {
  const chips = new Map(
    (
      await appliedChips(
        db,
        rows.flatMap(({ value }) => value.uids),
        rows.some(({ value }) => value.revision !== undefined),
      )
    )
      .filter(({ teamId }) => teamId === caller.teamId)
      .map((chip) => [chip.uid, chip]),
  )
  const labels = rows.flatMap(({ value }) => value.byLabel ?? [])
  const labelled = new Map(
    (labels.length > 0 ? await chipsLabelled(db, caller.teamId, labels) : []).map((chip) => [
      chip.label,
      chip,
    ]),
  )
  const planner = new Planner(db, keyRing, caller)
  const planned: PlannedStep[] = []
  for (const one of rows) {
    const { uids, byLabel, remove } = one.value
    const found = uids.find((uid) => chips.has(uid))
    const chip = byLabel === undefined ? chips.get(found ?? '') : labelled.get(byLabel)
    const uid = chip?.uid ?? uids[0]
    const before = uid === undefined ? undefined : named.get(uid)
    if (uid !== undefined && before === undefined) named.set(uid, one.row)
    if (uid !== undefined && before !== undefined && before !== one.row)
      planned.push({ row: one.row, uid, status: 'failed', error: `The chip is already in row ${before}.` })
    else if (!chip) planned.push(await newChip(planner, one))
    else planned.push(await (remove ? removal(db, one, chip) : planner.change(one, chip)))
  }
  return refuseLabels(db, caller, planned)
}

/** A label is free if nobody has it, or if its chip gets another label in the same piece. */
async function refuseLabels(
  db: Queries,
  { teamId }: ApplyCaller,
  planned: readonly PlannedStep[],
): Promise<PlannedStep[]> {
  const labels = planned.flatMap((one) => newLabelOf(one) ?? [])
  if (labels.length === 0) return [...planned]
  const holders = new Map((await existingLabels(db, teamId, labels)).map(({ label, uid }) => [label, uid]))
  const result = [...planned]
  for (let isStable = false; !isStable; ) {
    isStable = true
    const counts = new Map<string, number>()
    const releasing = new Set(result.flatMap((one) => ('to' in one && one.changes.label ? one.chip.uid : [])))
    for (const [at, one] of result.entries()) {
      const label = newLabelOf(one)
      if (label === undefined) continue
      const holder = holders.get(label)
      const before = counts.get(label)
      counts.set(label, before ?? one.row)
      const isHeld = holder !== undefined && holder !== one.uid && !releasing.has(holder)
      if (!isHeld && before === undefined) continue
      const by =
        before === undefined ? `belongs to the chip ${holder} of the team` : `is already in row ${before}`
      const error = `label "${label}" ${by}. Choose another label.`
      result[at] = { row: one.row, uid: one.uid, status: 'failed', error }
      isStable = false
    }
  }
  return result
}

const newLabelOf = (one: PlannedStep): string | undefined =>
  ('value' in one ? one.value.wishes.label : 'to' in one && one.changes.label ? one.to.label : undefined) ??
  undefined
