import type { Kysely } from 'kysely'

/** Knows the assignments that a batch made, so that it can be undone, and finds the badges that a chip gave since. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('badgeAssignments').addColumn('batch', 'text').execute()
  await db.schema
    .createIndex('badgeClaimsOfChip')
    .on('badgeClaims')
    .columns(['chipUid', 'badgeEventId'])
    .execute()
}
