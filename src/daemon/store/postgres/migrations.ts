import { type Kysely, type Migration, sql } from 'kysely'
import { badges } from '../migrations/0004-badges.ts'
import { migrations } from '../migrations/index.ts'
import { partitionTaps } from './tap-months.ts'

/** What SQLite needs a new table for. */
async function upstreamIdsPerProvider(db: Kysely<unknown>): Promise<void> {
  await sql`alter table "badgeEvents" drop constraint "badgeEvents_upstreamId_key"`.execute(db)
  await db.schema
    .alterTable('badgeEvents')
    .addColumn('provider', 'text', (c) => c.notNull().defaultTo('embedded'))
    .execute()
  await db.schema
    .alterTable('badgeEvents')
    .addUniqueConstraint('badgeEventsUpstream', ['provider', 'upstreamId'])
    .execute()
}

/** Those of SQLite, and what only this engine needs. Forward only. */
export const postgresMigrations: Record<string, Migration> = {
  ...migrations,
  '0004-badges': {
    up: async (db) => {
      await upstreamIdsPerProvider(db)
      await badges(db)
    },
  },
  '0004-taps-by-month': { up: partitionTaps },
}
