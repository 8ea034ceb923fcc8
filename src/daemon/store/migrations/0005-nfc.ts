import { type Kysely, sql } from 'kysely'
import { numbered, strict } from './0001-initial/columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // No references to teams and key sets: what keys a chip may have outlives all of them.
  await numbered(db.schema.createTable('nfcPlans'))
    .addColumn('uid', 'text', (c) => c.notNull())
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('registration', 'text')
    .addColumn('openedAt', 'text', (c) => c.notNull())
    .addColumn('openedBy', 'text', (c) => c.notNull())
    .addColumn('problem', 'text')
    .addColumn('closedAt', 'text')
    .addColumn('closedBy', 'text')
    .addColumn('outcome', 'text')
    .modifyEnd(strict)
    .execute()
  await db.schema.createIndex('nfcPlansOfChip').on('nfcPlans').columns(['uid', 'id']).execute()
  // Two unfinished plans of one chip would each be wrong about its keys.
  await db.schema
    .createIndex('nfcPlansOneOpen')
    .on('nfcPlans')
    .column('uid')
    .unique()
    .where(sql.ref('closedAt'), 'is', null)
    .execute()
}
