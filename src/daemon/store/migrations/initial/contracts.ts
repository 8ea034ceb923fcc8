import { type Kysely, sql } from 'kysely'
import { createdAt, numbered, ofTeam, optional, required, strict, strictClustered } from '../columns.ts'

/** What chips may stand for. */
export async function contracts(db: Kysely<unknown>): Promise<void> {
  await ofTeam(numbered(createdAt(db.schema.createTable('contracts'))))
    .$call(required('text', 'kind symbol name'))
    .addColumn('chainId', 'integer', (c) => c.notNull())
    .$call(required('text', 'address status'))
    .$call(optional('integer', 'twoTapDelaySeconds twoTapWindowSeconds transactionId'))
    .$call(optional('text', 'serviceUrl lastTokenId'))
    .addColumn('urlTransactionId', 'integer')
    .addColumn('problem', 'text')
    .addColumn('isBound', 'integer', (c) => c.notNull().defaultTo(0))
    .addUniqueConstraint('contractsOneOfASymbol', ['teamId', 'symbol'])
    .addUniqueConstraint('contractsOneAtAnAddress', ['chainId', 'address'])
    .modifyEnd(strict)
    .execute()
  await db.schema.createIndex('contractsOfTransaction').on('contracts').column('transactionId').execute()
  await numbered(createdAt(db.schema.createTable('tokens')))
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id'))
    .addColumn('tokenId', 'text', (c) => c.notNull())
    .$call(optional('text', 'owner metadata'))
    .addColumn('mintTransactionId', 'integer')
    .addUniqueConstraint('tokensOneOfAnId', ['contractId', 'tokenId'])
    .modifyEnd(strict)
    .execute()
  await ofTeam(createdAt(db.schema.createTable('items')))
    .$call(required('text', 'id name description imageUrl'))
    .addColumn('contractId', 'integer', (c) => c.references('contracts.id'))
    .$call(required('text', 'media attributes variants'))
    .addPrimaryKeyConstraint('itemsKey', ['teamId', 'id'])
    .modifyEnd(strictClustered)
    .execute()
  await claims(db)
  await announcements(db)
}

async function claims(db: Kysely<unknown>): Promise<void> {
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
}

/** That metadata has changed: to marketplaces, and by the contract itself. */
async function announcements(db: Kysely<unknown>): Promise<void> {
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
  await db.schema
    .createIndex('marketplaceRefreshesOfToken')
    .on('marketplaceRefreshes')
    .columns(['chainId', 'contract', 'tokenId', 'doneAt'])
    .execute()
  await db.schema
    .createTable('deferredAnnouncements')
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id').onDelete('cascade'))
    .addColumn('tokenId', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('deferredAnnouncementsKey', ['contractId', 'tokenId'])
    .modifyEnd(strictClustered)
    .execute()
}
