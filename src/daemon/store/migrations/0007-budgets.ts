import { type Kysely, sql } from 'kysely'
import { createdAt, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('teams').addColumn('transactionsPerDay', 'integer').execute()
  await db.schema.alterTable('teams').addColumn('gasPerDay', 'integer').execute()
  await db.schema.alterTable('teams').addColumn('spentDay', 'text').execute()
  for (const column of ['spentTransactions', 'spentGas'])
    await db.schema
      .alterTable('teams')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  // The topic identifies the latest pause of a guestbook.
  await sql`update "transactions" set "topic" = 'pause:' || "chainId" || '/' || "to" where "kind" = 'guestbook-pause'`.execute(
    db,
  )
  await createdAt(db.schema.createTable('deferredAnnouncements'))
    .addColumn('contractId', 'integer', (c) => c.notNull().references('contracts.id').onDelete('cascade'))
    .addColumn('tokenId', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('deferredAnnouncementsKey', ['contractId', 'tokenId'])
    .modifyEnd(strictClustered)
    .execute()
}
