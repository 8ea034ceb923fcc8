import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { trailOf } from '../../store/audit/chip-trail.ts'
import { deleteChip, saveTombstone } from '../../store/chips/chip-records.ts'
import { updateChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { endTapsOfChip } from '../../store/taps/recorded-taps.ts'
import { assertMayTransfer, type Operator } from '../access/grants.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { chipOf, givesCodes, type UidReadings } from './chip-record.ts'
import type { KeyRing } from './key-ring.ts'

type Deps = { db: Db; clock: Clock }

/** Also invalidates the taps, refs, and codes of the chip. @throws DomainError not_found */
export async function disableChip(
  { db, clock }: Deps,
  actor: Actor,
  readings: UidReadings,
  reason: string | undefined,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const { uid, teamId, disabledAt } = await chipOf(trx, actor, readings)
    if (disabledAt !== null) return
    const disabledReason = reason || null
    await updateChip(trx, uid, { disabledAt: at, disabledReason })
    await endTapsOfChip(trx, uid, at)
    const detail = { reason: disabledReason, changes: { disabled: { from: false, to: true } } }
    await recordChange(trx, { at, actor, teamId, action: 'chips.disable', target: uid, detail })
  })
}

/** Invalidated refs and codes stay invalid. @throws DomainError not_found, conflict, scope_missing */
export async function enableChip(
  { db, clock }: Deps,
  { actor, holder }: Operator,
  readings: UidReadings,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const chip = await chipOf(trx, actor, readings)
    const { uid, teamId, disabledAt, disabledReason, replacedBy } = chip
    if (replacedBy !== null) {
      throw new DomainError(
        'conflict',
        `The chip was replaced by ${replacedBy} and stays disabled. To use it again, remove it and import it.`,
      )
    }
    if (disabledAt === null) return
    if (await givesCodes(trx, chip)) assertMayTransfer(holder, 'enabling a chip that carries something')
    await updateChip(trx, uid, { disabledAt: null, disabledReason: null })
    const changes = { disabled: { from: true, to: false } }
    const detail = { disabledAt, reason: disabledReason, changes }
    await recordChange(trx, { at, actor, teamId, action: 'chips.enable', target: uid, detail })
  })
}

/** Also deletes its assignments. Its recorded taps are kept. @throws DomainError not_found */
export async function removeChip(
  { db, clock, keyRing }: Deps & { keyRing: KeyRing },
  actor: Actor,
  readings: UidReadings,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const chip = await chipOf(trx, actor, readings)
    const { uid, teamId } = chip
    await removeIn(trx, keyRing, chip, at)
    const detail = {
      chipGroup: chip.chipGroupName,
      keySet: chip.keySetId,
      label: chip.label,
      item: chip.itemId,
      tokenRow: chip.tokenRow,
      redirectUrl: chip.redirectUrl,
      lastCounter: chip.lastCounter,
      ...trailOf(chip),
    }
    await recordChange(trx, { at, actor, teamId, action: 'chips.remove', target: uid, detail })
  })
}

export async function removeIn(trx: Queries, keyRing: KeyRing, chip: ChipRow, at: string): Promise<void> {
  await saveTombstone(trx, chip, proofOfChip(keyRing, chip), at)
  await deleteChip(trx, chip)
}

/** See KeyRing.proofOf. @param keySetId the chip's key set, or another one */
export function proofOfChip(keyRing: KeyRing, chip: ChipRow, keySetId = chip.keySetId): string | null {
  const set = keySetId === null ? undefined : keyRing.get(keySetId)
  return keyRing.proofOf(set && keyRing.fileReadKey(set, chip), chip.uid)
}
