import type { Kysely } from 'kysely'

/** Knows the chips that an import created and that nobody has changed since, so that it can be undone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('chips').addColumn('importBatch', 'text').execute()
}
