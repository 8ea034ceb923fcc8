import type { Kysely } from 'kysely'
import { required, strictClustered } from './columns.ts'

/** What tells daemons that something in their memory was changed by another, and what only one of them may have. */
export async function fleetMemory(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('changes')
    .addColumn('kind', 'text', (c) => c.primaryKey())
    .$call(required('integer', 'version'))
    .modifyEnd(strictClustered)
    .execute()
  await db
    .withTables<{ changes: { kind: string; version: number } }>()
    .insertInto('changes')
    .values(['credentials', 'keySets', 'webhooks'].map((kind) => ({ kind, version: 0 })))
    .execute()
  await db.schema
    .createTable('holds')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .$call(required('text', 'daemon holder'))
    .addColumn('station', 'text')
    .$call(required('integer', 'busyUntil heardAt'))
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('holdsOfHolder').on('holds').column('holder').execute()
}
