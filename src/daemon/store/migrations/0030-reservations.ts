import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, optional, required, strict, strictClustered } from './columns.ts'

/** Pieces kept for people without a wallet, the mails about them, and how many mails went where. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reservations')
    .addColumn('tapId', 'integer', (c) => c.primaryKey())
    .$call(required('text', 'chipUid state language nonce codeUntil'))
    .$call(required('integer', 'teamId asks tries claims left'))
    .$call(optional('integer', 'tokenRow round'))
    .$call(optional('blob', 'address'))
    .$call(optional('text', 'addressHash keptAt endsAt endedAt linkHash holder'))
    .$call(createdAt)
    .modifyEnd(strict)
    .execute()
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('reservations').columns(columns)
  await index('reservationsOfChip', ['chipUid', 'tapId']).execute()
  await index('reservationsOfToken', ['tokenRow']).where(sql.ref('tokenRow'), 'is not', null).execute()
  await index('reservationsByLink', ['linkHash'])
    .unique()
    .where(sql.ref('linkHash'), 'is not', null)
    .execute()
  await index('reservationsOfTeam', ['teamId', 'tapId']).execute()
  await index('reservationsByEnd', ['state', 'endsAt']).execute()
  await db.schema
    .createTable('mails')
    .$call(numbered)
    .$call(required('integer', 'tapId attempts'))
    .$call(required('text', 'kind nonce messageId dueAt'))
    .$call(optional('text', 'sentAt failedAt reason'))
    .$call(createdAt)
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createIndex('mailsDue')
    .on('mails')
    .columns(['dueAt', 'id'])
    .where(sql.ref('sentAt'), 'is', null)
    .where(sql.ref('failedAt'), 'is', null)
    .execute()
  await db.schema.createIndex('mailsOfTap').on('mails').columns(['tapId', 'id']).execute()
  await db.schema.createIndex('mailsByTime').on('mails').column('createdAt').execute()
  await db.schema
    .createTable('mailQuotas')
    .addColumn('key', 'text', (c) => c.primaryKey())
    .$call(required('text', 'until'))
    .$call(required('integer', 'count'))
    .modifyEnd(strictClustered)
    .execute()
  // Somebody claimed it by a tap: nobody can lock it by keeping it then.
  await db.schema.alterTable('tokens').addColumn('claimedAt', 'text').execute()
  await db.schema.createIndex('mailQuotasByEnd').on('mailQuotas').column('until').execute()
}
