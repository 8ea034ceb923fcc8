import { type Kysely, sql } from 'kysely'
import { required, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The relayers that may send an intent which is not signed yet. A daemon of the version before leaves it null.
  await db.schema.alterTable('transactions').addColumn('candidates', 'text').execute()
  // Written when it is recorded, so that later ones with the same counter go to the same relayer.
  await db.schema
    .createIndex('transactionsOfSequence')
    .on('transactions')
    .columns(['sequence', 'id'])
    .where(sql.ref('settledAt'), 'is', null)
    .execute()
  await db.schema.alterTable('senders').addColumn('jam', 'text').execute()
  // Relayers besides the first that a contract of ours accepts, or will once the transaction is confirmed.
  await db.schema
    .createTable('contractRelayers')
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id').onDelete('cascade'))
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('transactionId', 'integer', (c) => c.notNull())
    .addColumn('confirmedAt', 'text')
    .addPrimaryKeyConstraint('contractRelayersKey', ['contractId', 'address'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createIndex('contractRelayersOfTransaction')
    .on('contractRelayers')
    .column('transactionId')
    .execute()
  // How tokens of a contract move that takes no signed claims.
  await db.schema.alterTable('contracts').addColumn('calls', 'text').execute()
  // The relayers' keys in a remote signer.
  await db.schema
    .createTable('signerKeys')
    .addColumn('chainId', 'integer', (c) => c.notNull())
    .$call(required('text', 'name publicKey host'))
    .addPrimaryKeyConstraint('signerKeysKey', ['chainId', 'name'])
    .addUniqueConstraint('signerKeysOnce', ['chainId', 'publicKey'])
    .modifyEnd(strictClustered)
    .execute()
  // Of the last `relayer.low`.
  await db.schema.alterTable('senders').addColumn('lowReportedAt', 'text').execute()
  // What marketplaces show of a collection.
  for (const column of ['description', 'image', 'banner', 'externalLink', 'royaltyReceiver'])
    await db.schema.alterTable('contracts').addColumn(column, 'text').execute()
  for (const column of ['royaltyBasisPoints', 'isRefreshPostponed'])
    await db.schema.alterTable('contracts').addColumn(column, 'integer').execute()
  // The transaction that sends this one together with others.
  await db.schema.alterTable('transactions').addColumn('groupId', 'integer').execute()
  await db.schema
    .createIndex('transactionsOfGroup')
    .on('transactions')
    .columns(['groupId', 'id'])
    .where(sql.ref('groupId'), 'is not', null)
    .execute()
}
