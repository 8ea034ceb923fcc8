import { type Kysely, sql } from 'kysely'
import { numbered, optional, required, strict } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // No references to teams and key sets, because the possible keys of a chip outlive them.
  await numbered(db.schema.createTable('nfcPlans'))
    .$call(required('text', 'uid purpose plan'))
    .addColumn('registration', 'text')
    .$call(required('text', 'openedAt openedBy'))
    .$call(optional('text', 'problem closedAt closedBy outcome'))
    .modifyEnd(strict)
    .execute()
  await db.schema.createIndex('nfcPlansOfChip').on('nfcPlans').columns(['uid', 'id']).execute()
  // With two unfinished plans, both would have wrong keys for the chip.
  await db.schema
    .createIndex('nfcPlansOneOpen')
    .on('nfcPlans')
    .column('uid')
    .unique()
    .where(sql.ref('closedAt'), 'is', null)
    .execute()
}
