import { sql } from 'kysely'
import {
  DatabaseUnavailable,
  type PoolCounts,
  type Queries,
  type ServerState,
  type ServerTrouble,
  type Standby,
} from '../database/database.ts'
import { assertWritable } from './connection.ts'
import type { Pool } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import { repeated } from './retry.ts'
import { troubleOf } from './trouble.ts'

const kinds = ['read', 'tap', 'write', 'slow'] as const

export const countsOf = (pool: Pool): PoolCounts[] =>
  kinds.map((kind) => ({ pool: kind, ...pool.counts(kind) }))

/** @param name of the database, for people @throws DatabaseUnavailable */
export async function serverState(db: Queries, name: string, pool: Pool): Promise<ServerState> {
  const startedAt = performance.now()
  const { rows } = await sql<{ version: string }>`
    select current_setting('server_version') as version
  `.execute(db)
  const latencyMs = Math.round((performance.now() - startedAt) * 10) / 10
  return {
    name,
    version: rows[0]?.version ?? '',
    latencyMs,
    standbys: await standbysOf(db),
    pools: countsOf(pool),
    ...repeated(),
  }
}

/** Distributed databases have no such view, and its lag is hidden from users without the role pg_monitor. */
async function standbysOf(db: Queries): Promise<Standby[]> {
  try {
    const { rows } = await sql<Standby>`
      select application_name as name, coalesce(sync_state, '') as "syncState",
        extract(epoch from replay_lag)::float8 as "lagSeconds",
        pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint as "lagBytes"
      from pg_stat_replication order by 1 limit 10
    `.execute(db)
    return rows
  } catch {
    return []
  }
}

/** @returns why the server takes no writes over a connection that taps would use now; undefined: it does */
export async function serverTrouble(pool: Pool, withinMs: number): Promise<ServerTrouble | undefined> {
  const until = performance.now() + withinMs
  let lent: PooledConnection | undefined
  try {
    lent = await pool.connect('control', withinMs)
    await assertWritable(lent, Math.max(1, until - performance.now()))
    lent.release()
    return undefined
  } catch (error) {
    lent?.release(new DatabaseUnavailable(error))
    return troubleOf(error, pool.url)
  }
}
