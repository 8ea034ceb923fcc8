import type { Insertable, Selectable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { once } from '../database/statement.ts'
import type { BatchFilesTable } from '../schema/schema.ts'

export type BatchFileRow = Selectable<BatchFilesTable>

/** @returns false if the batch has it already */
export const insertBatchFile = (db: Queries, file: Insertable<BatchFilesTable>): Promise<boolean> =>
  once(
    db
      .insertInto('batchFiles')
      .values(file)
      .onConflict((conflict) => conflict.doNothing()),
  )

export const findBatchFile = (
  db: Queries,
  batchId: string,
  hash: string,
): Promise<BatchFileRow | undefined> =>
  db
    .selectFrom('batchFiles')
    .selectAll()
    .where('batchId', '=', batchId)
    .where('hash', '=', hash)
    .executeTakeFirst()

export async function hashesOfBatch(db: Queries, batchId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('batchFiles').select('hash').where('batchId', '=', batchId).execute()
  return new Set(rows.map(({ hash }) => hash))
}
