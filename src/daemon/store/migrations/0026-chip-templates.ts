import type { Kysely } from 'kysely'

/** How a HaLo chip shows its taps, once it has. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['chips', 'removedChips'])
    await db.schema.alterTable(table).addColumn('haloForm', 'text').execute()
}
