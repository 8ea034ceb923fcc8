import { type Kysely, sql } from 'kysely'
import { numbered, optional, required, strict } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // No references to teams and key sets: what keys a chip may have outlives all of them.
  await numbered(db.schema.createTable('nfcPlans'))
    .$call(required('text', 'uid purpose plan'))
    .addColumn('registration', 'text')
    .$call(required('text', 'openedAt openedBy'))
    .$call(optional('text', 'problem closedAt closedBy outcome'))
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
