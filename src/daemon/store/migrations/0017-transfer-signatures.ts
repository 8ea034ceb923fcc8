import type { Kysely } from 'kysely'

/** The answer that a used code has already given, so that a client that lost it can ask again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('otps').addColumn('signature', 'blob').execute()
}
