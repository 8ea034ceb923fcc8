import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('batch', 'text').execute()
  // Most entries belong to no batch.
  await db.schema
    .createIndex('auditOfBatch')
    .on('audit')
    .columns(['batch', 'id'])
    .where('batch', 'is not', null)
    .execute()
}
