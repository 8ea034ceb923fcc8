import type { Queries } from './database.ts'
import type { ChipGroupRow } from './schema.ts'

export const chipGroupsOfTeam = (db: Queries, teamId: number): Promise<ChipGroupRow[]> =>
  db.selectFrom('chipGroups').selectAll().where('teamId', '=', teamId).orderBy('id').execute()

export const findChipGroup = (db: Queries, teamId: number, id: number): Promise<ChipGroupRow | undefined> =>
  db.selectFrom('chipGroups').selectAll().where('teamId', '=', teamId).where('id', '=', id).executeTakeFirst()

export const findChipGroupNamed = (
  db: Queries,
  teamId: number,
  name: string,
): Promise<ChipGroupRow | undefined> =>
  db
    .selectFrom('chipGroups')
    .selectAll()
    .where('teamId', '=', teamId)
    .where('name', '=', name)
    .executeTakeFirst()

export const insertChipGroup = (
  db: Queries,
  group: { teamId: number; name: string; createdAt: string },
): Promise<ChipGroupRow> => db.insertInto('chipGroups').values(group).returningAll().executeTakeFirstOrThrow()

/** Whosesoever it is. */
export const findAnyChipGroup = (db: Queries, id: number): Promise<ChipGroupRow | undefined> =>
  db.selectFrom('chipGroups').selectAll().where('id', '=', id).executeTakeFirst()

export async function renameChipGroup(db: Queries, id: number, name: string): Promise<void> {
  await db.updateTable('chipGroups').set({ name }).where('id', '=', id).execute()
}

export async function deleteChipGroup(db: Queries, id: number): Promise<void> {
  await db.deleteFrom('chipGroups').where('id', '=', id).execute()
}

/** Tells a group of chips that it holds from now on, or of fewer than none. */
export async function addToChipGroup(db: Queries, id: number, chips: number): Promise<void> {
  await db
    .updateTable('chipGroups')
    .set((eb) => ({ chips: eb('chips', '+', chips) }))
    .where('id', '=', id)
    .execute()
}
