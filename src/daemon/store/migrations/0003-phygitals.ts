import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, optional, required, strict, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('contracts').addColumn('transactionId', 'integer').execute()
  await db.schema.alterTable('contracts').addColumn('serviceUrl', 'text').execute()
  await db.schema.alterTable('contracts').addColumn('lastTokenId', 'text').execute()
  await db.schema.alterTable('tokens').addColumn('mintTransactionId', 'integer').execute()
  await db.schema.alterTable('guestbookEvents').addColumn('transactionId', 'integer').execute()
  await db.schema.alterTable('contracts').addColumn('urlTransactionId', 'integer').execute()
  await db.schema.alterTable('transactions').addColumn('topic', 'text').execute()
  await db.schema
    .createIndex('transactionsOfTopic')
    .on('transactions')
    .columns(['topic', 'id'])
    .where(sql.ref('topic'), 'is not', null)
    .execute()
  await db.schema.createIndex('contractsOfTransaction').on('contracts').column('transactionId').execute()
  await createdAt(db.schema.createTable('claimRegistrations'))
    .addColumn('tokenRow', 'integer', (c) => c.notNull().references('tokens.id').onDelete('cascade'))
    .addColumn('recipient', 'text', (c) => c.notNull())
    .addColumn('tapId', 'integer')
    .$call(required('text', 'allowedAt expiresAt'))
    .addPrimaryKeyConstraint('claimRegistrationsKey', ['tokenRow', 'recipient'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createTable('usedSignatures')
    .addColumn('digest', 'text', (c) => c.notNull().primaryKey())
    .addColumn('expiresAt', 'text', (c) => c.notNull())
    .modifyEnd(strictClustered)
    .execute()
  await numbered(createdAt(db.schema.createTable('marketplaceRefreshes')))
    .addColumn('chainId', 'integer', (c) => c.notNull())
    .$call(required('text', 'contract tokenId dueAt'))
    .$call(optional('text', 'reason doneAt givenUpAt'))
    .modifyEnd(strict)
    .execute()
  await db.schema
    .createIndex('marketplaceRefreshesDue')
    .on('marketplaceRefreshes')
    .column('dueAt')
    .where((e) => e.and([e(sql.ref('doneAt'), 'is', null), e(sql.ref('givenUpAt'), 'is', null)]))
    .execute()
  // When a token was last refreshed.
  await db.schema
    .createIndex('marketplaceRefreshesOfToken')
    .on('marketplaceRefreshes')
    .columns(['chainId', 'contract', 'tokenId', 'doneAt'])
    .execute()
}
