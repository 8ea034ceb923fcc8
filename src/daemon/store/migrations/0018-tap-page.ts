import type { Kysely } from 'kysely'

/** Pages found by their own ref, and each team's look. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('pageVisits').addColumn('refHash', 'text').execute()
  await db.schema.createIndex('pageVisitsByRef').on('pageVisits').column('refHash').unique().execute()
  for (const name of ['brandName', 'brandColor', 'brandBackground', 'brandLogoUrl'])
    await db.schema.alterTable('teams').addColumn(name, 'text').execute()
}
