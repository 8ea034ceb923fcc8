import { type Kysely, sql } from 'kysely'
import { optional, required, strict, strictClustered, type Table } from '../columns.ts'

/** All columns but the ID, which each engine assigns in its own way. */
export const tapColumns = (table: Table): Table =>
  table
    .addColumn('at', 'text', (c) => c.notNull())
    .addColumn('chipUid', 'text')
    .$call(optional('integer', 'teamId keySetId counter'))
    .$call(required('text', 'outcome via'))
    .addColumn('tamper', 'text')
    .addColumn('previous', 'integer')
    .$call(optional('text', 'refsUntil pageUntil links'))
    .addColumn('queried', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('codes', 'text')

// Recorded taps outlive their chips. AUTOINCREMENT would write one more page per tap.
const oneTable = (db: Kysely<unknown>): Promise<void> =>
  tapColumns(db.schema.createTable('taps').addColumn('id', 'integer', (c) => c.primaryKey()))
    .modifyEnd(strict)
    .execute()

/** Taps and their spent codes. Must come after `settings`. @param create creates the table of taps */
export async function taps(
  db: Kysely<unknown>,
  create: (db: Kysely<unknown>) => Promise<void> = oneTable,
): Promise<void> {
  await create(db)
  await db.schema
    .createIndex('tapsRefused')
    .on('taps')
    .column('id')
    .where(sql.ref('outcome'), '!=', sql.lit('valid'))
    .execute()
  // A chip's other taps form a chain.
  await db.schema
    .createIndex('tapsRefusedOfChip')
    .on('taps')
    .columns(['chipUid', 'id'])
    .where(sql.ref('outcome'), '!=', sql.lit('valid'))
    .execute()
  await db.schema.createIndex('tapsOfTeam').on('taps').columns(['teamId', 'id']).execute()
  await db
    .withTables<{ settings: { key: string; value: string } }>()
    .insertInto('settings')
    .values({ key: 'tapsDeleted', value: '0' })
    .execute()
  await db.schema
    .createTable('spentCodes')
    .addColumn('codeHash', 'text', (c) => c.primaryKey().notNull())
    .addColumn('tapId', 'integer', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('madeThen', 'integer', (c) => c.notNull())
    .$call(optional('text', 'takenAt usedAt deletedAt'))
    .addColumn('signature', 'blob')
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('spentCodesOfTap').on('spentCodes').column('tapId').execute()
}
