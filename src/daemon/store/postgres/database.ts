import { sql } from 'kysely'
import {
  BackupElsewhere,
  type Db,
  type Maintenance,
  type Queries,
  type ServerTrouble,
} from '../database/database.ts'
import { Adapter, kyselyBy } from './dialect.ts'
import { loadDriver } from './driver.ts'
import { type HeartbeatOptions, startHeartbeat } from './heartbeat.ts'
import { Pool } from './pool.ts'
import { Primary } from './primary.ts'
import { repeated, tried } from './retry.ts'
import { nameOfDatabase, serversOf } from './servers.ts'
import { queryOn, type Run } from './single-query.ts'
import { countsOf, serverState, serverTrouble } from './state.ts'
import { Writer } from './writer.ts'

const defaultBeat: HeartbeatOptions = { everyMs: 1000, answerMs: 3000 }

interface Options {
  /** Maximum number of open connections. */
  readonly connections?: number
  /** For programs that move whole tables. */
  readonly isBulk?: boolean
  /** Called once when the server is lost, and once when it is back. */
  readonly changed?: (trouble: ServerTrouble | undefined) => void
}

/** @param url see serversOf; must be migrated @param failed receives errors of failed writes */
export async function openPostgres(
  url: string,
  failed: (error: unknown, writes: number) => void = () => undefined,
  heartbeatOptions = defaultBeat,
  { changed = () => undefined, ...sized }: Options = {},
): Promise<Db> {
  await loadDriver()
  const primary = new Primary(serversOf(url))
  const adapter = new Adapter()
  const pool = new Pool(primary, sized)
  const writer = new Writer(pool, adapter, failed)
  // Opens the first connection, and keeps one open.
  const endHeartbeat = startHeartbeat(primary, pool, heartbeatOptions, changed)
  const changeFeed = kyselyBy(queryOn(pool, 'control'), adapter)
  return {
    read: kyselyBy(retried(queryOn(pool, 'read')), adapter),
    slow: kyselyBy(retried(queryOn(pool, 'slow')), adapter),
    changeFeed,
    write: (job) => writer.run(job),
    takeTap: (tap) => writer.takeTap(tap),
    maintenance: {
      ...maintenanceOf(kyselyBy(queryOn(pool, 'slow'), adapter)),
      serverState: () => serverState(changeFeed, nameOfDatabase(url), pool),
      serverUse: () => ({ pools: countsOf(pool), ...repeated() }),
      serverTrouble: (withinMs) => serverTrouble(pool, withinMs),
    },
    async close() {
      await writer.close()
      await pool.close()
      // Until then, it aborts queries to a server that is gone.
      await endHeartbeat()
    },
  }
}

/** Reads change nothing, so an unanswered one is repeated. */
const retried =
  (run: Run): Run =>
  (query) =>
    tried((leftMs) => run(query, leftMs))

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
