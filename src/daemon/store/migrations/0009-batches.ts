import type { Kysely } from 'kysely'
import { optional, required, strictClustered } from './columns.ts'

/** Batches of the CLI with copies of their journals, and which batch a change in the audit log belongs to. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('batch', 'text').execute()
  // Most entries belong to no batch.
  await db.schema
    .createIndex('auditOfBatch')
    .on('audit')
    .columns(['batch', 'id'])
    .where('batch', 'is not', null)
    .execute()
  await db.schema
    .createTable('batches')
    .addColumn('id', 'text', (c) => c.primaryKey().notNull())
    .addColumn('teamId', 'integer', (c) => c.references('teams.id').onDelete('cascade'))
    .$call(required('text', 'kind state host'))
    .$call(optional('text', 'context'))
    .$call(required('text', 'startedAt startedBy heardAt holder place'))
    .$call(required('integer', 'lease done failed total length stored'))
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createTable('batchChunks')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batches.id').onDelete('cascade'))
    .$call(required('integer', 'offset bytes'))
    .$call(required('blob', 'data'))
    .addPrimaryKeyConstraint('batchChunksKey', ['batchId', 'offset'])
    .modifyEnd(strictClustered)
    .execute()
}
