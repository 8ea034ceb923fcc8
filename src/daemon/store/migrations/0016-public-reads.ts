import { type Kysely, sql } from 'kysely'

/** Finds the badges of an address, and keeps the images of events at POAP. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('badgeClaimsOfRecipient')
    .on('badgeClaims')
    .columns(['recipient', 'id'])
    .where(sql.ref('codeNumber'), 'is', null)
    .execute()
  await db.schema
    .alterTable('poapEvents')
    .addColumn('imageUrl', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
}
