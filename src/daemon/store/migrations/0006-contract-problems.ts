import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('contracts').addColumn('problem', 'text').execute()
  // Earlier token contracts have predictable addresses; guestbooks never did.
  await db.schema
    .alterTable('contracts')
    .addColumn('isBound', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
