import type { Kysely } from 'kysely'
import { optional, required, strictClustered } from './columns.ts'

/** Knows an event by its fields and image, so that a sheet that is sent again creates none a second time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('badgeContents')
    .addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .$call(required('text', 'hash'))
    .$call(optional('integer', 'badgeEventId'))
    .addPrimaryKeyConstraint('badgeContentsKey', ['teamId', 'hash'])
    .modifyEnd(strictClustered)
    .execute()
}
