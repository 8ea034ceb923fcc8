import { type Kysely, sql } from 'kysely'
import { required, strictClustered } from './columns.ts'

/** Counts the badges of each recipient at the embedded provider, those that there are already included. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('badgeEvents')
    .addColumn('maxPerRecipient', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  // By recipient first, which also finds all badges of a person.
  await db.schema
    .createTable('badgeRecipients')
    .$call(required('text', 'recipient'))
    .addColumn('badgeEventId', 'integer', (c) => c.notNull().references('badgeEvents.id'))
    .addColumn('badges', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('badgeRecipientsKey', ['recipient', 'badgeEventId'])
    .modifyEnd(strictClustered)
    .execute()
  const counted = sql`case when recipient like 'email:%' then recipient else lower(recipient) end`
  await sql`
    insert into "badgeRecipients" (recipient, "badgeEventId", badges)
    select ${counted}, "badgeEventId", count(*) from "badgeClaims"
    where "codeNumber" is null and recipient not like '%@%'
    group by 1, 2
  `.execute(db)
  // Email addresses are kept as keyed hashes, and a migration has no key: the next start counts them.
  await sql`
    insert into settings (key, value)
    select 'badgeEmailsUncounted', 'true' where exists (
      select 1 from "badgeClaims" where "codeNumber" is null and recipient like '%@%'
    )
  `.execute(db)
}
