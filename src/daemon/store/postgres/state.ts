import { sql } from 'kysely'
import type { PoolCounts, Queries, ServerState, Standby } from '../database.ts'
import type { Connections } from './pool.ts'
import { repeated } from './retry.ts'

/** Pools by what they are for. */
export type Pools = Readonly<Record<PoolCounts['pool'], Connections>>

export const countsOf = (pools: Pools): PoolCounts[] =>
  (Object.keys(pools) as PoolCounts['pool'][]).map((pool) => {
    const { total, idle, waiting, max } = pools[pool].counts()
    const inUse = total - idle
    // Others wait for a new connection to be made, which is no lack of them.
    return { pool, inUse, idle, waiting: inUse < max ? 0 : waiting, max }
  })

/** @param name of the database, for people @throws DatabaseUnavailable */
export async function serverState(db: Queries, name: string, pools: Pools): Promise<ServerState> {
  const asked = performance.now()
  const { rows } = await sql<{ version: string }>`
    select current_setting('server_version') as version
  `.execute(db)
  const latencyMs = Math.round((performance.now() - asked) * 10) / 10
  return {
    name,
    version: rows[0]?.version ?? '',
    latencyMs,
    standbys: await standbysOf(db),
    pools: countsOf(pools),
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
