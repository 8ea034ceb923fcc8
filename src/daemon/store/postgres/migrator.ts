import type { Kysely, Migration } from 'kysely'
import type { Client } from 'pg'
import { DatabaseUnavailable } from '../database/database.ts'
import * as initial from '../migrations/0025-initial.ts'
import { initialSchema, migrations } from '../migrations/index.ts'
import type { Database } from '../schema/schema.ts'
import { connectTo, end } from './connection.ts'
import { Adapter, kyselyBy } from './dialect.ts'
import type { Query } from './pooled-connection.ts'
import { Primary } from './primary.ts'
import { serversOf } from './servers.ts'
import { createTapsByMonth } from './tap-months.ts'

// Other starting daemons wait for the migration.
const queryMs = 3_600_000
/**
 * While a migration waits for a table, queries of running daemons queue behind it, and it may be waiting for one of
 * those daemons.
 */
const heldUpMs = 500

/**
 * One connection. A migration runs in one transaction, which holds the row of Kysely's lock from its beginning: it
 * ends with the connection, whatever happens to the daemon.
 * @throws DatabaseUnavailable
 */
export async function connectToMigrate(
  url: string,
): Promise<{ kysely: Kysely<Database>; close(): Promise<void> }> {
  const client = await connected(url)
  const query = (query: Query) => client.query<never>({ ...query, query_timeout: queryMs } as Query)
  const adapter = new Adapter()
  let isOpen = false
  const over = async (text: 'commit' | 'rollback') => {
    if (!isOpen) return
    isOpen = false
    await query({ text })
  }
  adapter.lock = {
    acquire: async () => {
      // So that each statement sees the changes of a daemon that held the lock before.
      await query({ text: 'begin isolation level read committed' })
      isOpen = true
      await query({ text: `select 1 from kysely_migration_lock where id = 'migration_lock' for update` })
      await query({ text: `set local lock_timeout = '${heldUpMs}ms'` })
    },
    release: () => over('rollback'),
  }
  const kysely = kyselyBy(query, adapter, {
    begin: async () => undefined,
    commit: () => over('commit'),
    rollback: () => over('rollback'),
  })
  return { kysely, close: () => end(client) }
}

async function connected(url: string): Promise<Client> {
  const primary = new Primary(serversOf(url))
  let found: Client | undefined
  primary.found = (client) => {
    if (found) void end(client)
    else found = client
  }
  await primary.known()
  try {
    return found ?? (await connectTo(primary.url))
  } catch (error) {
    throw new DatabaseUnavailable(error)
  }
}

/** SQLite's migrations, plus those that only this engine needs. Forward only. */
export const postgresMigrations: Record<string, Migration> = {
  ...migrations,
  [initialSchema]: { up: (db) => initial.up(db, createTapsByMonth) },
}
