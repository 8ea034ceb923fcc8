import type { Kysely } from 'kysely'
import { optional, required, strictClustered } from '../columns.ts'

/** Batches of the CLI, with copies of their journals. */
export async function batchJournals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('batchJournals')
    .addColumn('id', 'text', (c) => c.primaryKey().notNull())
    .addColumn('teamId', 'integer', (c) => c.references('teams.id').onDelete('cascade'))
    .$call(required('text', 'kind state host'))
    .$call(optional('text', 'context'))
    .$call(required('text', 'startedAt startedBy heardAt holder place'))
    .$call(required('integer', 'lease done failed total length stored'))
    .modifyEnd(strictClustered)
    .execute()
  // They are counted with each piece of a journal.
  await db.schema.createIndex('batchJournalsOfTeam').on('batchJournals').columns(['teamId', 'id']).execute()
  await db.schema
    .createTable('batchChunks')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batchJournals.id').onDelete('cascade'))
    .$call(required('integer', 'offset bytes'))
    .$call(required('blob', 'data'))
    .addPrimaryKeyConstraint('batchChunksKey', ['batchId', 'offset'])
    .modifyEnd(strictClustered)
    .execute()
}
