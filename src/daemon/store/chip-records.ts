import { addToChipGroup } from './chip-groups.ts'
import { type ChipWithToken, withToken } from './chips.ts'
import type { Queries } from './database.ts'

/** A chip with the names of what it belongs to. */
export interface ChipRecordRow extends ChipWithToken {
  teamName: string
  chipGroupName: string
  itemName: string | null
}

export const findChipRecord = (db: Queries, uid: string): Promise<ChipRecordRow | undefined> =>
  withToken(db)
    .innerJoin('teams', 'teams.id', 'chips.teamId')
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .leftJoin('items', (join) =>
      join.onRef('items.teamId', '=', 'chips.teamId').onRef('items.id', '=', 'chips.itemId'),
    )
    .select(['teams.name as teamName', 'chipGroups.name as chipGroupName', 'items.name as itemName'])
    .where('chips.uid', '=', uid)
    .executeTakeFirst()

export async function deleteChip(
  db: Queries,
  { uid, chipGroupId }: Pick<ChipRecordRow, 'uid' | 'chipGroupId'>,
): Promise<void> {
  await db.deleteFrom('chips').where('uid', '=', uid).execute()
  await addToChipGroup(db, chipGroupId, -1)
}

/** Gives one chip's badge and guestbook events to another. @returns how many there were */
export async function moveAssignments(db: Queries, from: string, to: string): Promise<number> {
  let moved = 0n
  for (const table of ['badgeAssignments', 'guestbookAssignments'] as const) {
    const { numUpdatedRows } = await db
      .updateTable(table)
      .set({ chipUid: to })
      .where('chipUid', '=', from)
      .executeTakeFirstOrThrow()
    moved += numUpdatedRows
  }
  return Number(moved)
}

export async function hasAssignments(db: Queries, uid: string): Promise<boolean> {
  for (const table of ['badgeAssignments', 'guestbookAssignments'] as const) {
    const one = await db
      .selectFrom(table)
      .select('chipUid')
      .where('chipUid', '=', uid)
      .limit(1)
      .executeTakeFirst()
    if (one) return true
  }
  return false
}

/**
 * Sets a chip's simulated counter forward: true for one caller alone, and only from where that caller saw it.
 */
export async function takeSimulatedCounters(
  db: Queries,
  step: { uid: string; from: number; to: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('chips')
    .set({ simulatedCounter: step.to })
    .where('uid', '=', step.uid)
    .where('simulatedCounter', '=', step.from)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/**
 * Ends the made-up taps of simulated chips that are still good: whoever had them made before the chips got what they
 * carry now has no right to it.
 */
export async function voidSimulatedTaps(db: Queries, uids: readonly string[]): Promise<void> {
  await db
    .updateTable('chips')
    .set((eb) => ({ lastCounter: eb.ref('simulatedCounter') }))
    .where('uid', 'in', uids)
    .where('simulated', '=', 1)
    .whereRef('simulatedCounter', '>', 'lastCounter')
    .execute()
}
