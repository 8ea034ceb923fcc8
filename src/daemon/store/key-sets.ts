import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { KeySetRow, KeySetsTable } from './schema.ts'

export const allKeySets = (db: Queries): Promise<KeySetRow[]> => db.selectFrom('keySets').selectAll().orderBy('id').execute()

export const insertKeySet = (db: Queries, row: Insertable<KeySetsTable>): Promise<KeySetRow> =>
  db.insertInto('keySets').values(row).returningAll().executeTakeFirstOrThrow()

export async function deleteKeySet(db: Queries, id: number): Promise<boolean> {
  return (await db.deleteFrom('keySets').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n
}
