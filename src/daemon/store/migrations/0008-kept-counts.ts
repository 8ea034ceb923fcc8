import { type Kysely, sql } from 'kysely'

/** Avoids counting and scanning growing tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('chipGroups')
    .addColumn('chips', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`
    update "chipGroups" set "chips" =
      (select count(*) from chips where chips."chipGroupId" = "chipGroups".id)
  `.execute(db)
  // Tap IDs have gaps only where rows were deleted, and the newest is never deleted.
  await sql`
    insert into settings (key, value)
    select 'tapsDeleted', cast(coalesce(max(id), 0) - count(*) as text) from taps
  `.execute(db)
  await db.schema.createIndex('tapsOfTeam').on('taps').columns(['teamId', 'id']).execute()
  await db.schema.createIndex('pageVisitsByExpiry').on('pageVisits').column('expiresAt').execute()
  await db.schema.createIndex('pageVisitsOfChip').on('pageVisits').column('chipUid').execute()
}
