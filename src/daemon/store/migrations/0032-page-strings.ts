import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Beside the brand, which every page reads anyway.
  await db.schema.alterTable('teams').addColumn('pageStrings', 'text').execute()
}
