import type { Kysely } from 'kysely'

/** Pages found by their own ref, each team's look, and taps that are too old to claim. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('pageVisits').addColumn('refHash', 'text').execute()
  await db.schema.createIndex('pageVisitsByRef').on('pageVisits').column('refHash').unique().execute()
  await db.schema.alterTable('chips').addColumn('claimsEndedTap', 'integer').execute()
  for (const name of ['brandName', 'brandColor', 'brandBackground', 'brandLogoUrl'])
    await db.schema.alterTable('teams').addColumn(name, 'text').execute()
}
