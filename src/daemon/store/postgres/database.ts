import { sql } from 'kysely'
import { BackupElsewhere, type Db, type Maintenance, type Queries } from '../database.ts'
import { Adapter, kyselyBy } from './dialect.ts'
import { loadDriver } from './driver.ts'
import { type Beat, startHeartbeat } from './heartbeat.ts'
import { openPool, queryOn, type Run } from './pool.ts'
import { Primary } from './primary.ts'
import { repeated, tried } from './retry.ts'
import { nameOfDatabase, serversOf } from './servers.ts'
import { countsOf, serverState } from './state.ts'
import { Writer } from './writer.ts'

// 24 connections of a daemon with that of the heartbeat, so that four fit the 100 of a server as it is installed.
const readers = { max: 7, queryMs: 15_000 }
// Apart, so that no write that waits for a row holds up taps.
const takers = { max: 7, queryMs: 15_000 }
const writers = { max: 5, queryMs: 60_000 }
const beat: Beat = { everyMs: 1000, answerMs: 3000 }
const slowReaders = { max: 3, queryMs: 600_000 }
const pulse = { max: 1, queryMs: 2000 }

/** @param url see serversOf; must be migrated @param failed receives errors of failed writes */
export async function openPostgres(
  url: string,
  failed: (error: unknown, writes: number) => void = () => undefined,
  heartbeat = beat,
): Promise<Db> {
  await loadDriver()
  const primary = new Primary(serversOf(url))
  const adapter = new Adapter()
  const reading = openPool(primary, readers)
  const slow = openPool(primary, slowReaders)
  const writing = openPool(primary, writers)
  const taking = openPool(primary, takers)
  const looking = openPool(primary, pulse)
  const pools = { read: reading, tap: taking, write: writing, slow }
  const writer = new Writer({ writing, taking }, adapter, failed)
  const endHeartbeat = startHeartbeat(primary, [reading, slow, writing, taking, looking], heartbeat)
  return {
    read: kyselyBy(retried(queryOn(reading)), adapter),
    slow: kyselyBy(retried(queryOn(slow)), adapter),
    pulse: kyselyBy(queryOn(looking), adapter),
    write: (job) => writer.run(job),
    takeTap: (tap) => writer.takeTap(tap),
    maintenance: {
      ...maintenanceOf(kyselyBy(queryOn(slow), adapter)),
      serverState: () => serverState(kyselyBy(queryOn(looking), adapter), nameOfDatabase(url), pools),
      serverUse: () => ({ pools: countsOf(pools), ...repeated() }),
    },
    async close() {
      await writer.close()
      await Promise.all([reading.close(), slow.close(), looking.close()])
      // Until then it breaks off what would never end.
      await endHeartbeat()
    },
  }
}

/** Reads change nothing, so one that was not answered is asked again. */
const retried =
  (run: Run): Run =>
  (query) =>
    tried(() => run(query))

const maintenanceOf = (db: Queries): Maintenance => ({
  sizeBytes: async () => {
    const { rows } = await sql<{
      bytes: number
    }>`select pg_database_size(current_database()) as bytes`.execute(db)
    return rows[0]?.bytes ?? 0
  },
  quickCheck: async () => {
    await sql`select 1`.execute(db)
    return 'ok'
  },
  backupTo: async () => {
    throw new BackupElsewhere()
  },
})
