import type { ExpressionBuilder, Selectable } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import { affected, exists, once, statement } from '../database/statement.ts'
import type { ChipRow, Database } from '../schema/schema.ts'
import { addToChipGroup } from './chip-groups.ts'
import { type ChipWithToken, withToken } from './chips.ts'

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

/** A chip registered by an import. `topic`: that of its token's transactions */
interface ImportedChip {
  uid: string
  batch: string
  topic: string | null
}

/** Unchanged since the import: not changed, tapped, or assigned, and its token not moved. */
const untouched =
  ({ uid, batch, topic }: ImportedChip) =>
  (e: ExpressionBuilder<Database, 'chips'>) =>
    e.and([
      e('chips.uid', '=', uid),
      e('chips.importBatch', '=', batch),
      e('chips.lastTapAt', 'is', null),
      ...(['badgeAssignments', 'guestbookAssignments'] as const).map((table) =>
        e.not(e.exists(e.selectFrom(table).select('chipUid').whereRef('chipUid', '=', 'chips.uid'))),
      ),
      ...(topic === null ? [] : [e.not(e.exists(moved(e, topic)))]),
    ])

export const isUntouched = (db: Queries, imported: ImportedChip): Promise<boolean> =>
  exists(db.selectFrom('chips').select('chips.uid').where(untouched(imported)))

/** @returns false if it is no longer as the import registered it */
export async function deleteUntouched(
  db: Queries,
  { chipGroupId, ...imported }: ImportedChip & { chipGroupId: number },
): Promise<boolean> {
  const isDeleted = await once(db.deleteFrom('chips').where(untouched(imported)))
  if (isDeleted) await addToChipGroup(db, chipGroupId, -1)
  return isDeleted
}

const moved = (e: ExpressionBuilder<Database, 'chips'>, topic: string) =>
  e
    .selectFrom('transactions')
    .select('transactions.id')
    .where('topic', '=', topic)
    .whereRef('transactions.createdAt', '>=', 'chips.createdAt')

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
    if (await exists(db.selectFrom(table).select('chipUid').where('chipUid', '=', uid))) return true
  }
  return false
}

/** @returns false if another caller has changed the counter since */
export const takeSimulatedCounters = (db: Queries, step: { uid: string; from: number; to: number }) =>
  once(
    db
      .updateTable('chips')
      .set({ simulatedCounter: step.to })
      .where('uid', '=', step.uid)
      .where('simulatedCounter', '=', step.from),
  )

/** Simulated taps that were generated before the chip got its current assets must not give access to them. */
export const voidSimulatedTaps = (db: Queries, uids: readonly string[]) =>
  affected(
    db
      .updateTable('chips')
      .set((eb) => ({ lastCounter: eb.ref('simulatedCounter') }))
      .where('uid', 'in', uids)
      .where('simulated', '=', 1)
      .whereRef('simulatedCounter', '>', 'lastCounter'),
  )

/** Chips with the same identity produce the same taps. */
export const chipIdentity = (chip: Pick<ChipRow, 'uid' | 'keySetId' | 'publicKey'>): string =>
  chip.publicKey ?? `${chip.keySetId}/${chip.uid}`

export interface Tombstone {
  identity: string
  uid: string
  proof: string | null
  lastCounter: number
  lastTap: number | null
  haloForm: ChipRow['haloForm']
  catchesUp: number
  generation: number
  /** 0: a physical chip. */
  simulated: number
}

export async function saveTombstone(
  db: Queries,
  chip: ChipRow,
  proof: string | null,
  removedAt: string,
): Promise<void> {
  const { uid, lastTap, haloForm, catchesUp, generation, simulated } = chip
  // Taps that were simulated and are not used yet must not be worth anything once the UID is registered again.
  const lastCounter = Math.max(chip.lastCounter, chip.simulatedCounter)
  const identity = chipIdentity(chip)
  if (chip.publicKey !== null) await keepOtherUid(db, identity, uid)
  const left = { identity, uid, proof, lastCounter, lastTap, haloForm, catchesUp, generation, simulated }
  await put(db, { ...left, removedAt })
}

const put = (db: Queries, { identity, ...left }: Selectable<Database['removedChips']>) =>
  affected(
    db
      .insertInto('removedChips')
      .values({ identity, ...left })
      .onConflict((conflict) => conflict.column('identity').doUpdateSet(left)),
  )

/** A HaLo chip may have been removed under another UID before: its earlier taps are found by that UID. */
async function keepOtherUid(db: Queries, identity: string, uid: string): Promise<void> {
  const before = await db
    .selectFrom('removedChips')
    .selectAll()
    .where('identity', '=', identity)
    .where('uid', '!=', uid)
    .executeTakeFirst()
  if (before) await put(db, { ...before, identity: `${identity} ${before.uid}` })
}

const any = statement<Record<never, never>>()((db) => db.selectFrom('removedChips').select('uid').limit(1))

/** Lets imports skip the lookup of each chip. */
export const hasTombstones = (db: Queries) => any.exists(db, {})

export function rememberedOf(
  db: Queries,
  by: { identities: readonly string[]; uids: readonly string[] },
): Promise<Tombstone[]> {
  const { listed } = engineOf(db)
  return db
    .selectFrom('removedChips')
    .select(['identity', 'uid', 'proof', 'lastCounter', 'lastTap', 'haloForm', 'catchesUp'])
    .select(['generation', 'simulated'])
    .where((e) => e.or([e('identity', 'in', listed(by.identities)), e('uid', 'in', listed(by.uids))]))
    .execute()
}

const hold = statement<{ uid: string }>()((db, p) => {
  const row = db.selectFrom('chips').select('uid').where('uid', '=', p.uid)
  return engineOf(db).held?.(row) ?? row
})
/** Other writes that lock the chip wait until this one ends. */
export async function holdChip(db: Queries, uid: string): Promise<void> {
  if (engineOf(db).held) await hold.first(db, { uid })
}
