import { type Kysely, sql } from 'kysely'
import { beginAuditHead } from '../../audit/audit-head.ts'
import { createdAt, numbered, ofTeam, optional, required, strict, strictClustered } from '../columns.ts'

export async function settings(db: Kysely<unknown>): Promise<void> {
  for (const [table, key, value] of [
    ['names', 'name', 'address'],
    ['settings', 'key', 'value'],
  ] as const) {
    await db.schema
      .createTable(table)
      .addColumn(key, 'text', (c) => c.primaryKey().notNull())
      .addColumn(value, 'text', (c) => c.notNull())
      .modifyEnd(strictClustered)
      .execute()
  }
}

/** State that daemons on one database share. */
export async function fleet(db: Kysely<unknown>): Promise<void> {
  // Leases: work that only one daemon or session may do at a time.
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .$call(required('text', 'holder'))
    .$call(required('integer', 'fence expiresAt'))
    .modifyEnd(strictClustered)
    .execute()
  // Tells daemons that another one changed something that they cache.
  await db.schema
    .createTable('changes')
    .addColumn('kind', 'text', (c) => c.primaryKey())
    .$call(required('integer', 'version'))
    .modifyEnd(strictClustered)
    .execute()
  await db
    .withTables<{ changes: { kind: string; version: number } }>()
    .insertInto('changes')
    .values(['credentials', 'keySets', 'webhooks'].map((kind) => ({ kind, version: 0 })))
    .execute()
  // Includes the settings on which daemons have to agree.
  await db.schema
    .createTable('daemons')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .$call(required('text', 'name settings'))
    .$call(required('integer', 'heardAt'))
    .modifyEnd(strictClustered)
    .execute()
}

/** The log, and its head, which is sealed if the data key is available. */
export async function audit(db: Kysely<unknown>): Promise<void> {
  await numbered(db.schema.createTable('audit'))
    .$call(required('text', 'at actor'))
    .addColumn('teamId', 'integer')
    .$call(required('text', 'action target detail'))
    .$call(optional('text', 'requestId batch hash'))
    .modifyEnd(strict)
    .execute()
  // Most entries belong to no batch.
  await db.schema
    .createIndex('auditOfBatch')
    .on('audit')
    .columns(['batch', 'id'])
    .where('batch', 'is not', null)
    .execute()
  await db.schema
    .createTable('auditHead')
    .addColumn('id', 'integer', (c) => c.primaryKey().notNull())
    .$call(required('integer', 'entries lastId'))
    .$call(required('text', 'hash'))
    .$call(optional('text', 'seal sealedSince sinceSeal'))
    .modifyEnd(strict)
    .execute()
  await beginAuditHead(db, new Date().toISOString())
}

/** Batches that the daemon runs. */
export async function batches(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('batches')
    .addColumn('id', 'text', (c) => c.primaryKey().notNull())
    .addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .$call(required('text', 'kind state startedBy startedById scopes settings rowsHash createdAt touchedAt'))
    .$call(
      optional(
        'text',
        'name approvedBy note at until host context undoes plan error auditHead startedAt endedAt',
      ),
    )
    .$call(optional('integer', 'rate lateSeconds'))
    .$call(
      required(
        'integer',
        'isProposed total uploaded pass nextPiece nextRow changed unchanged failed conflict stored',
      ),
    )
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('batchesOfTeam').on('batches').columns(['teamId', 'id']).execute()
  await db.schema.createIndex('batchNames').unique().on('batches').columns(['teamId', 'name']).execute()
  // The loop reads due batches by this index.
  await db.schema.createIndex('batchesByState').on('batches').columns(['state', 'id']).execute()
  await db.schema.createIndex('batchesByUntil').on('batches').columns(['until']).execute()
  await db.schema.createIndex('undosOfBatch').on('batches').columns(['undoes']).execute()
  await db.schema
    .createTable('batchPieces')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batches.id').onDelete('cascade'))
    .$call(required('integer', 'piece count'))
    .$call(required('blob', 'rows'))
    .$call(optional('blob', 'plan results'))
    .addPrimaryKeyConstraint('batchPiecesKey', ['batchId', 'piece'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createTable('batchFiles')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batches.id').onDelete('cascade'))
    .$call(required('text', 'hash type'))
    .$call(required('blob', 'data'))
    .addPrimaryKeyConstraint('batchFilesKey', ['batchId', 'hash'])
    .modifyEnd(strictClustered)
    .execute()
}

/** Webhooks and their deliveries. */
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
  // Each delivery is in exactly one of these.
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
