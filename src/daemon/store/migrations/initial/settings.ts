import type { Kysely } from 'kysely'
import { strictClustered } from '../columns.ts'

export async function settings(db: Kysely<unknown>): Promise<void> {
  for (const [table, key, value] of [
    ['names', 'name', 'address'],
    ['settings', 'key', 'value'],
  ] as const) {
    await db.schema
      .createTable(table)
      .addColumn(key, 'text', (c) => c.primaryKey().notNull())
      .addColumn(value, 'text', (c) => c.notNull())
      .modifyEnd(strictClustered)
      .execute()
  }
}
