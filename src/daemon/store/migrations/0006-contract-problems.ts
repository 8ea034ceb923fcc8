import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('contracts').addColumn('problem', 'text').execute()
  // Token contracts from before stand where a guess leads; guestbooks never did.
  await db.schema
    .alterTable('contracts')
    .addColumn('isBound', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
