import type { Kysely } from 'kysely'
import type { Database } from '../schema.ts'
import { Adapter, kyselyBy } from './dialect.ts'
import { loadDriver } from './driver.ts'
import { openPool } from './pool.ts'
import { Primary } from './primary.ts'
import { serversOf } from './servers.ts'

// Other daemons that start wait for the migration.
const queryMs = 3_600_000
/** Queries of daemons that serve wait behind a migration that waits for a table, perhaps for one of them. */
const heldUpMs = 500

/**
 * One connection. A migration runs in one transaction, which holds the row of Kysely's lock from its beginning: it
 * ends with the connection, whatever happens to the daemon.
 * @throws DatabaseUnavailable
 */
export async function connectToMigrate(
  url: string,
): Promise<{ kysely: Kysely<Database>; close(): Promise<void> }> {
  await loadDriver()
  const pool = openPool(new Primary(serversOf(url)), { max: 1, queryMs })
  const client = await pool.connect()
  const adapter = new Adapter()
  let isOpen = false
  const end = async (word: 'commit' | 'rollback') => {
    if (!isOpen) return
    isOpen = false
    await client.query(word)
  }
  adapter.lock = {
    acquire: async () => {
      // Each statement sees what a daemon that held the lock has done.
      await client.query('begin isolation level read committed')
      isOpen = true
      await client.query(`select 1 from kysely_migration_lock where id = 'migration_lock' for update`)
      await client.query(`set local lock_timeout = '${heldUpMs}ms'`)
    },
    release: () => end('rollback'),
  }
  const kysely = kyselyBy((query) => client.query(query), adapter, {
    begin: async () => undefined,
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  })
  return {
    kysely,
    close: async () => {
      client.release(true)
      await pool.close()
    },
  }
}
