import type { Kysely } from 'kysely'
import { numbered, strict, strictClustered } from './columns.ts'

export async function records(db: Kysely<unknown>): Promise<void> {
  await numbered(db.schema.createTable('audit'))
    .addColumn('at', 'text', (c) => c.notNull())
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('teamId', 'integer')
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('detail', 'text', (c) => c.notNull())
    .addColumn('requestId', 'text')
    .modifyEnd(strict)
    .execute()
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
