import type { Kysely } from 'kysely'
import { required, strictClustered } from '../columns.ts'

/** What several daemons on one database share beyond what one of them keeps. */
export async function fleet(db: Kysely<unknown>): Promise<void> {
  // Who does what only one daemon, or one session, may do.
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .$call(required('text', 'holder'))
    .$call(required('integer', 'fence expiresAt'))
    .modifyEnd(strictClustered)
    .execute()
  // Tells daemons that something in their memory was changed by another.
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
  // With the settings that they have to agree on.
  await db.schema
    .createTable('daemons')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .$call(required('text', 'name settings'))
    .$call(required('integer', 'heardAt'))
    .modifyEnd(strictClustered)
    .execute()
}
