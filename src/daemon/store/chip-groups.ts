import type { Queries } from './database.ts'
import type { ChipGroupRow } from './schema.ts'

export const chipGroupsOfTeam = (db: Queries, teamId: number): Promise<ChipGroupRow[]> =>
  db.selectFrom('chipGroups').selectAll().where('teamId', '=', teamId).orderBy('id').execute()

export const findChipGroup = (db: Queries, teamId: number, id: number): Promise<ChipGroupRow | undefined> =>
  db.selectFrom('chipGroups').selectAll().where('teamId', '=', teamId).where('id', '=', id).executeTakeFirst()

export const findChipGroupNamed = (db: Queries, teamId: number, name: string): Promise<ChipGroupRow | undefined> =>
  db.selectFrom('chipGroups').selectAll().where('teamId', '=', teamId).where('name', '=', name).executeTakeFirst()

export const insertChipGroup = (
  db: Queries,
  group: { teamId: number; name: string; createdAt: string },
): Promise<ChipGroupRow> => db.insertInto('chipGroups').values(group).returningAll().executeTakeFirstOrThrow()
