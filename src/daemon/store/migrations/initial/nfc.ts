import { type Kysely, sql } from 'kysely'
import { numbered, optional, required, strict, strictClustered } from '../columns.ts'

/** What stations do to chips, and what they give them. */
export async function nfc(db: Kysely<unknown>): Promise<void> {
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
  // No references to teams and chips, because a run says what was done, also about those that are gone.
  await numbered(db.schema.createTable('nfcSheets'))
    .$call(required('integer', 'teamId'))
    .$call(required('text', 'sheet'))
    .$call(required('integer', 'rows taken nextRow'))
    .$call(required('text', 'openedAt usedAt'))
    .addColumn('closedAt', 'text')
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createIndex('nfcSheetsOneOpen')
    .on('nfcSheets')
    .columns(['teamId', 'sheet'])
    .unique()
    .where(sql.ref('closedAt'), 'is', null)
    .execute()
  await db.schema
    .createTable('nfcSheetRows')
    .addColumn('run', 'integer', (c) => c.notNull().references('nfcSheets.id').onDelete('cascade'))
    .addColumn('row', 'integer', (c) => c.notNull())
    .addColumn('uid', 'text')
    .addPrimaryKeyConstraint('nfcSheetRowsKey', ['run', 'row'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createIndex('nfcSheetRowsOfChip')
    .on('nfcSheetRows')
    .columns(['run', 'uid'])
    .unique()
    .execute()
}
