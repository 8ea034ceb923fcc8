import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, strict, strictClustered } from './0001-initial/columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('contracts').addColumn('transactionId', 'integer').execute()
  await db.schema.alterTable('contracts').addColumn('serviceUrl', 'text').execute()
  await db.schema.alterTable('contracts').addColumn('lastTokenId', 'text').execute()
  await db.schema.alterTable('tokens').addColumn('mintTransactionId', 'integer').execute()
  await db.schema.alterTable('guestbookEvents').addColumn('transactionId', 'integer').execute()
  await db.schema.createIndex('contractsOfTransaction').on('contracts').column('transactionId').execute()
  await createdAt(db.schema.createTable('claimRegistrations'))
    .addColumn('tokenRow', 'integer', (c) => c.notNull().references('tokens.id').onDelete('cascade'))
    .addColumn('recipient', 'text', (c) => c.notNull())
    .addColumn('tapId', 'integer')
    .addColumn('allowedAt', 'text', (c) => c.notNull())
    .addColumn('expiresAt', 'text', (c) => c.notNull())
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
    .addColumn('contract', 'text', (c) => c.notNull())
    .addColumn('tokenId', 'text', (c) => c.notNull())
    .addColumn('dueAt', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .addColumn('doneAt', 'text')
    .addColumn('givenUpAt', 'text')
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
