import { type Kysely, sql } from 'kysely'
import { numbered, required, strict, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('teams')
    .addColumn('publicPages', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // Made when it is first shown: a million chips get none here, and no import pays for it.
  await db.schema.alterTable('chips').addColumn('publicId', 'text').execute()
  await db.schema
    .createIndex('chipsOneOfAPublicId')
    .unique()
    .on('chips')
    .column('publicId')
    .where(sql.ref('publicId'), 'is not', null)
    .execute()
  await numbered(db.schema.createTable('chipNotes'))
    .addColumn('chipUid', 'text', (c) => c.notNull().references('chips.uid').onDelete('cascade'))
    .$call(required('text', 'text by at'))
    .modifyEnd(strict)
    .execute()
  await db.schema.createIndex('chipNotesOfChip').on('chipNotes').columns(['chipUid', 'id']).execute()
  await db.schema
    .createTable('guestbookEntries')
    .addColumn('chipUid', 'text', (c) => c.notNull().references('chips.uid').onDelete('cascade'))
    .addColumn('transactionId', 'integer', (c) => c.notNull())
    .addColumn('guestbookEventId', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('guestbookEntriesKey', ['chipUid', 'transactionId'])
    .modifyEnd(strictClustered)
    .execute()
  // The newest of a chip that thousands of people tap.
  await db.schema
    .createIndex('badgeClaimsLatestOfChip')
    .on('badgeClaims')
    .columns(['chipUid', 'id'])
    .execute()
}
