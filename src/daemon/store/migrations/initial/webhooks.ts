import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, ofTeam, optional, required, strict } from '../columns.ts'

/** Where teams want to be told of what happens, and what is waiting to be told. */
export async function webhooks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhooks')
    .$call(numbered)
    .$call(ofTeam)
    .$call(required('blob', 'url secret'))
    .$call(required('text', 'origin'))
    .$call(optional('blob', 'oldSecret'))
    .$call(optional('text', 'oldSecretUntil events'))
    .$call(createdAt)
    .$call(optional('text', 'disabledAt disabledReason removedAt'))
    .modifyEnd(strict)
    .execute()
  await db.schema.createIndex('webhooksOfTeam').on('webhooks').column('teamId').execute()
  await db.schema
    .createTable('webhookDeliveries')
    .$call(numbered)
    .addColumn('webhookId', 'integer', (c) => c.notNull().references('webhooks.id'))
    .$call(required('text', 'messageId type at data'))
    .$call(optional('text', 'chipUid'))
    .addColumn('transactionId', 'integer', (c) => c.references('transactions.id'))
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .$call(optional('text', 'dueAt resentAt settledAt outcome error'))
    .$call(optional('integer', 'statusCode'))
    .modifyEnd(strict)
    .execute()
  // Each message is in exactly one of these.
  await db.schema
    .createIndex('openDeliveries')
    .on('webhookDeliveries')
    .columns(['webhookId', 'dueAt', 'id'])
    .where(sql.ref('settledAt'), 'is', null)
    .execute()
  await db.schema
    .createIndex('settledDeliveries')
    .on('webhookDeliveries')
    .columns(['webhookId', 'id'])
    .where(sql.ref('settledAt'), 'is not', null)
    .execute()
}
