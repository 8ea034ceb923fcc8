import type { Kysely } from 'kysely'
import { required, strictClustered } from './columns.ts'

/** The daemons on one database, with the settings that they have to agree on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('daemons')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .$call(required('text', 'name settings'))
    .$call(required('integer', 'heardAt'))
    .modifyEnd(strictClustered)
    .execute()
}
