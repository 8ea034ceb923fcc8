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

/** A chip group with how many chips it holds. */
export interface CountedChipGroup extends ChipGroupRow {
  chips: number
}

const counted = (db: Queries) =>
  db
    .selectFrom('chipGroups')
    .selectAll('chipGroups')
    .select((eb) =>
      eb
        .selectFrom('chips')
        .select(({ fn }) => fn.countAll<number>().as('chips'))
        .whereRef('chips.chipGroupId', '=', 'chipGroups.id')
        .$asScalar()
        .$notNull()
        .as('chips'),
    )

export const countedChipGroups = (db: Queries, teamId: number): Promise<CountedChipGroup[]> =>
  counted(db).where('teamId', '=', teamId).orderBy('id').execute()

export const findCountedChipGroup = (db: Queries, id: number): Promise<CountedChipGroup | undefined> =>
  counted(db).where('id', '=', id).executeTakeFirst()

export async function renameChipGroup(db: Queries, id: number, name: string): Promise<void> {
  await db.updateTable('chipGroups').set({ name }).where('id', '=', id).execute()
}

export async function deleteChipGroup(db: Queries, id: number): Promise<void> {
  await db.deleteFrom('chipGroups').where('id', '=', id).execute()
}
