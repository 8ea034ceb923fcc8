import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { KeySetRow, KeySetsTable } from './schema.ts'

export const allKeySets = (db: Queries): Promise<KeySetRow[]> =>
  db.selectFrom('keySets').selectAll().orderBy('id').execute()

export const findKeySet = (db: Queries, id: number): Promise<KeySetRow | undefined> =>
  db.selectFrom('keySets').selectAll().where('id', '=', id).executeTakeFirst()

export const insertKeySet = (db: Queries, row: Insertable<KeySetsTable>): Promise<KeySetRow> =>
  db.insertInto('keySets').values(row).returningAll().executeTakeFirstOrThrow()

export async function deleteKeySet(db: Queries, id: number): Promise<boolean> {
  return (await db.deleteFrom('keySets').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n
}

/** How many chips each key set has; one without chips is not in it. */
export async function chipsByKeySet(db: Queries): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('chips')
    .select(({ fn }) => ['keySetId', fn.countAll<number>().as('chips')])
    .where('keySetId', 'is not', null)
    .groupBy('keySetId')
    .execute()
  return new Map(rows.map(({ keySetId, chips }) => [keySetId ?? 0, Number(chips)]))
}

export async function isKeySetUsed(db: Queries, id: number): Promise<boolean> {
  const one = db.selectFrom('chips').select('uid').where('keySetId', '=', id).limit(1)
  return (await one.executeTakeFirst()) !== undefined
}
