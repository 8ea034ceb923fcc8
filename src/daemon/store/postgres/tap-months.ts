import { type Kysely, sql } from 'kysely'
import type { Queries, TapMonths } from '../database/database.ts'
import { tapColumns } from '../migrations/initial/taps.ts'
import { otherMonths } from './servers.ts'

// Waiting for a lock would block every later tap, so it is skipped and retried.
const lockTimeout = sql`set local lock_timeout = '100ms'`

/** The partition of a month. @param month YYYY-MM */
const partitionOf = (month: string): string => `taps_${month.replace('-', '_')}`

const monthAfter = (month: string): string => {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7)
}

/**
 * Taps partitioned by month, so that old ones are dropped as a table. The primary key includes the time, because
 * PostgreSQL requires that of partitions; IDs come from one sequence, so they are unique anyway.
 */
export async function createTapsByMonth(db: Kysely<unknown>): Promise<void> {
  const table = tapColumns(
    db.schema.createTable('taps').addColumn('id', 'integer', (c) => c.autoIncrement()),
  ).addPrimaryKeyConstraint('taps_pkey', ['id', 'at'])
  await sql.raw(`${table.compile().sql} partition by range (at)`).execute(db)
  // Rows are stored in order of time, so a block range index finds the latest.
  await sql`create index "tapsByTime" on taps using brin (at) with (pages_per_range = 16, autosummarize = on)`.execute(
    db,
  )
  await sql`create table ${sql.ref(otherMonths)} partition of taps default`.execute(db)
}

/** Small enough to be counted row by row. */
const countedBytes = 16 * 1024 * 1024

interface Partition {
  name: string
  bytes: number
  /** The planner's estimate. */
  rows: number
}

async function partitions(db: Kysely<never>): Promise<Partition[]> {
  const { rows } = await sql<Partition>`
    select relname as name, pg_relation_size(pg_class.oid) as bytes,
      case when relpages > 0 then
        (greatest(reltuples, 0) * pg_relation_size(pg_class.oid) / (relpages * current_setting('block_size')::bigint))::bigint
      else 0 end as rows
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'taps'::regclass order by relname
  `.execute(db)
  return rows
}

export const tapMonths: TapMonths = {
  async make(db, month) {
    const name = partitionOf(month)
    const [from, to] = [month, monthAfter(month)]
    await lockTimeout.execute(db)
    // Comes before any read, so that of concurrent daemons the second sees what the first created.
    await sql`lock table ${sql.ref(otherMonths)} in access exclusive mode`.execute(db)
    if ((await partitions(db as never)).some((one) => one.name === name)) return
    await sql`create table ${sql.ref(name)} (like taps including defaults)`.execute(db)
    // Taps of the month may exist already: a daemon was off for long, or a clock was wrong.
    await sql`
      with moved as (delete from ${sql.ref(otherMonths)} where at >= ${from} and at < ${to} returning *)
      insert into ${sql.ref(name)} select * from moved
    `.execute(db)
    const range = sql`for values from (${sql.lit(from)}) to (${sql.lit(to)})`
    await sql`alter table taps attach partition ${sql.ref(name)} ${range}`.execute(db)
  },

  async before(db, month) {
    const found = (await partitions(db as never)).map(({ name }) => /^taps_(\d{4})_(\d{2})$/.exec(name))
    return found
      .flatMap((match) => (match ? [`${match[1]}-${match[2]}`] : []))
      .filter((known) => known < month)
  },

  async drop(db, month) {
    const name = partitionOf(month)
    await lockTimeout.execute(db)
    const taps = await rowsOf(
      db,
      (await partitions(db as never)).filter((one) => one.name === name),
    )
    // Few, with their own index.
    const { rows } = await sql<{ refused: number }>`
      select count(*) as refused from ${sql.ref(name)} where outcome <> 'valid'
    `.execute(db)
    const newest = await db.selectFrom('taps').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst()
    await sql`drop table ${sql.ref(name)}`.execute(db)
    const refused = rows[0]?.refused ?? 0
    if (newest?.at.slice(0, 7) !== month) return { taps, refused }
    // This tap stays, so that a database that continues after the newest ID never reuses one.
    await db.insertInto('taps').values(newest).execute()
    return { taps: taps - 1, refused: refused - Number(newest.outcome !== 'valid') }
  },

  count: async (db) => rowsOf(db, await partitions(db as never)),
}

async function rowsOf(db: Queries, counted: readonly Partition[]): Promise<number> {
  let taps = 0
  for (const { name, bytes, rows } of counted) {
    const counting = sql<{ taps: number }>`select count(*) as taps from ${sql.ref(name)}`
    taps += bytes > countedBytes && rows > 0 ? rows : ((await counting.execute(db)).rows[0]?.taps ?? 0)
  }
  return taps
}
