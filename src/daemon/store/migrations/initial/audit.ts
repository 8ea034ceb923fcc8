import type { Kysely } from 'kysely'
import { beginAuditHead } from '../../audit/audit-head.ts'
import { numbered, optional, required, strict } from '../columns.ts'

/** The log, and its head, which is sealed if the data key is known here. */
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
