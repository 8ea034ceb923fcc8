import type { Kysely } from 'kysely'

/** A backup does not know what happened after it: counters that have risen, transactions that were sent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const columns = { chips: 'catchesUp', removedChips: 'catchesUp', transactions: 'isRestored' }
  for (const [table, column] of Object.entries(columns))
    await db.schema
      .alterTable(table)
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
}
