import type { Insertable } from 'kysely'
import { noteChange } from '../database/changes.ts'
import type { Queries } from '../database/database.ts'
import { affected, exists } from '../database/statement.ts'
import type { KeySetRow, KeySetsTable } from '../schema/schema.ts'

export const allKeySets = (db: Queries) => db.selectFrom('keySets').selectAll().orderBy('id').execute()

export const findKeySet = (db: Queries, id: number) =>
  db.selectFrom('keySets').selectAll().where('id', '=', id).executeTakeFirst()

export async function insertKeySet(db: Queries, row: Insertable<KeySetsTable>): Promise<KeySetRow> {
  await noteChange(db, 'keySets')
  return db.insertInto('keySets').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function deleteKeySet(db: Queries, id: number): Promise<number> {
  await noteChange(db, 'keySets')
  return affected(db.deleteFrom('keySets').where('id', '=', id))
}

/** Omits key sets without chips. @param teamId counts its chips alone */
export async function chipsByKeySet(db: Queries, teamId?: number): Promise<Map<number, number>> {
  const chips = db.selectFrom('chips').where('keySetId', 'is not', null)
  const rows = await (teamId === undefined ? chips : chips.where('teamId', '=', teamId))
    .select(({ fn }) => ['keySetId', fn.countAll<number>().as('chips')])
    .groupBy('keySetId')
    .execute()
  return new Map(rows.map(({ keySetId, chips }) => [keySetId ?? 0, Number(chips)]))
}

/** @param exceptBy ignores this team's chips */
export function isKeySetUsed(db: Queries, id: number, { exceptBy }: { exceptBy?: number } = {}) {
  const chips = db.selectFrom('chips').select('uid').where('keySetId', '=', id)
  return exists(exceptBy === undefined ? chips : chips.where('teamId', '!=', exceptBy))
}
