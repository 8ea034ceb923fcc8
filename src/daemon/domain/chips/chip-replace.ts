import { recordChange } from '../../store/audit/audit.ts'
import { addToChipGroup } from '../../store/chips/chip-groups.ts'
import { moveStory } from '../../store/chips/chip-notes.ts'
import {
  type ChipRecordRow,
  hasAssignments,
  moveAssignments,
  voidSimulatedTaps,
} from '../../store/chips/chip-records.ts'
import { updateChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { endTapsOfChip } from '../../store/taps/recorded-taps.ts'
import { assertMayTransfer, type Operator } from '../access/grants.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { chipOf, givesCodes, type UidReadings } from './chip-record.ts'

const conflict = (message: string) => new DomainError('conflict', message)

/** @returns the UID of the replaced chip; unchanged if the same chip took its place before @throws DomainError not_found, conflict, scope_missing */
export async function replaceChip(
  { db, clock }: { db: Db; clock: Clock },
  { actor, holder }: Operator,
  readings: UidReadings,
  other: UidReadings,
): Promise<{ uid: string; status: 'replaced' | 'unchanged' }> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const old = await chipOf(trx, actor, readings)
    const replacement = await chipOf(trx, actor, other)
    if (old.replacedBy === replacement.uid) return { uid: old.uid, status: 'unchanged' }
    await assertReplaceable(trx, old, replacement)
    if (await givesCodes(trx, old)) assertMayTransfer(holder, 'moving the assets of a chip to another chip')

    const { uid, teamId, tokenRow, itemId, variantId, redirectUrl, label, chipGroupId, publicId } = old
    // Labels are unique in a team, so the old chip must release its label first.
    await updateChip(trx, uid, {
      tokenRow: null,
      itemId: null,
      variantId: null,
      redirectUrl: null,
      label: null,
      disabledAt: old.disabledAt ?? at,
      disabledReason: 'replaced',
      replacedBy: replacement.uid,
      publicId: null,
    })
    const moved = { tokenRow, itemId, variantId, redirectUrl, label, chipGroupId }
    // Links to the piece stay good.
    await updateChip(trx, replacement.uid, { ...moved, ...(publicId === null ? {} : { publicId }) })
    await addToChipGroup(trx, replacement.chipGroupId, -1)
    await addToChipGroup(trx, chipGroupId, 1)
    await moveStory(trx, uid, replacement.uid)
    const assignments = await moveAssignments(trx, uid, replacement.uid)
    await voidSimulatedTaps(trx, [replacement.uid])
    await endTapsOfChip(trx, uid, at)
    const detail = {
      with: replacement.uid,
      chipGroup: chipGroupId,
      label,
      redirectUrl,
      item: itemId,
      variant: variantId,
      tokenRow,
      assignments,
      ...(old.disabledReason === null ? {} : { previousReason: old.disabledReason }),
    }
    const chips = [replacement.uid]
    await recordChange(trx, { at, actor, teamId, action: 'chips.replace', target: uid, detail, chips })
    return { uid, status: 'replaced' }
  })
}

async function assertReplaceable(
  trx: Queries,
  old: ChipRecordRow,
  replacement: ChipRecordRow,
): Promise<void> {
  if (old.uid === replacement.uid)
    throw conflict('A chip cannot replace itself. Name another chip in `with`.')
  if (old.replacedBy !== null)
    throw conflict(`The chip ${old.uid} was already replaced by ${old.replacedBy}.`)
  if (replacement.teamId !== old.teamId) {
    throw conflict(
      `The chip ${replacement.uid} belongs to the team "${replacement.teamName}", and ${old.uid} to "${old.teamName}". Use a chip of the same team.`,
    )
  }
  if (replacement.disabledAt !== null)
    throw conflict(`The chip ${replacement.uid} is disabled. Enable it first, or use another chip.`)
  const carried = [
    replacement.tokenRow !== null && 'a token',
    replacement.itemId !== null && 'an item',
    replacement.redirectUrl !== null && 'a redirect URL',
    replacement.label !== null && 'a label',
    (await hasAssignments(trx, replacement.uid)) && 'assigned events',
  ].filter((what) => what !== false)
  if (carried.length === 0) return
  throw conflict(
    `The chip ${replacement.uid} carries ${carried.join(', ')}. Use a chip that carries nothing.`,
  )
}
