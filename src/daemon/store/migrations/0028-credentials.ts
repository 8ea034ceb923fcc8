import type { Kysely } from 'kysely'
import { required, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['apiKeys', 'adminTokens'])
    for (const column of [
      'lastUsedAt',
      'lastUsedFrom',
      'rolledAt',
      'previousMac',
      'previousUntil',
      'previousSeal',
    ])
      await db.schema.alterTable(table).addColumn(column, 'text').execute()
  // null: for all teams. Daemons of the version before refuse tokens of one team: see CredentialMac.
  await db.schema.alterTable('adminTokens').addColumn('teamId', 'integer').execute()
  await db.schema.alterTable('adminTokens').addColumn('hint', 'text').execute()
  await auditTrail(db)
}

/** What finds entries of the audit log. Each filter has an index in the order of the list. */
async function auditTrail(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('audit').columns(columns).execute()
  await index('auditOfTarget', ['target', 'id'])
  for (const column of ['actor', 'action']) {
    await index(`${column}InAudit`, [column, 'id'])
    // Another team may have a million of the same.
    await index(`${column}InAuditOfTeam`, [column, 'teamId', 'id'])
  }
  await index('auditOfTeam', ['teamId', 'id'])
  await index('auditByTime', ['at', 'id'])
  // A list of chips in an entry would cost each batch half as much again to index, but a batch writes the chip anyway.
  await db.schema.alterTable('chips').addColumn('changedAt', 'text').execute()
  // Chips that other entries concern without being their target. It only finds entries: they prove what happened.
  await db.schema
    .createTable('auditChips')
    .$call(required('text', 'uid'))
    .$call(required('integer', 'auditId'))
    .addPrimaryKeyConstraint('auditChipsKey', ['uid', 'auditId'])
    .modifyEnd(strictClustered)
    .execute()
}
