import { type Kysely, sql } from 'kysely'
import { numbered, required, strict, strictClustered } from './columns.ts'

/** Sheets whose rows several stations give to chips, and seals that chips report. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // No references to teams and chips, because a run says what was done, also about those that are gone.
  await numbered(db.schema.createTable('nfcSheets'))
    .$call(required('integer', 'teamId'))
    .$call(required('text', 'sheet'))
    .$call(required('integer', 'rows taken nextRow'))
    .$call(required('text', 'openedAt openedBy usedAt'))
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
  await db.schema
    .alterTable('chips')
    .addColumn('tagTamper', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  for (const name of ['tamper', 'openedAt'])
    await db.schema.alterTable('chips').addColumn(name, 'text').execute()
  await db.schema.alterTable('taps').addColumn('tamper', 'text').execute()
}
