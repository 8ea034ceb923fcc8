import type { Kysely } from 'kysely'

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
}
