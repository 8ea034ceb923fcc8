import { type RawBuilder, sql } from 'kysely'
import type { Column, Copying, Page, Row } from '../copy/side.ts'
import type { Queries } from '../database/database.ts'

const cell = ({ name, type }: Column): RawBuilder<unknown> => {
  if (type === 'integer') return sql`${sql.ref(name)}::text`
  return type === 'blob' ? sql`encode(${sql.ref(name)}, 'hex')` : sql.ref(name)
}

const typed = (type: Column['type'], value: RawBuilder<unknown>): RawBuilder<unknown> => {
  if (type === 'integer') return sql`${value}::bigint`
  return type === 'blob' ? sql`decode(${value}, 'hex')` : sql`${value}::text`
}

async function page(db: Queries, { table, key, after, limit }: Page): Promise<Row[]> {
  const names = sql.join(key.map((name) => sql.ref(name)))
  const types = key.map((name) => table.columns.find((column) => column.name === name)?.type ?? 'text')
  const past = after
    ? sql`where (${names}) > (${sql.join(types.map((type, at) => typed(type, sql`${after[at]}::text`)))})`
    : sql``
  const cells = table.columns.map((column, at) => sql`${cell(column)} as ${sql.ref(`c${at}`)}`)
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.join(cells)} from ${sql.table(table.name)} ${past} order by ${names} limit ${limit}
  `.execute(db)
  return rows.map((row) => Object.values(row))
}

/** Tables with numbered rows, and the sequence of each. */
async function sequences(db: Queries): Promise<{ table: string; sequence: string }[]> {
  const { rows } = await sql<{ table: string; sequence: string }>`
    select table_name as table, pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
    from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES' and column_name = 'id'
  `.execute(db)
  return rows.filter(({ sequence }) => sequence !== null)
}

export const postgresCopying: Copying = {
  keyOf: async (db, table) => {
    const { rows } = await sql<{ name: string }>`
      select a.attname as name from pg_index i
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
      where i.indrelid = quote_ident(${table})::regclass and i.indisprimary
      order by array_position(i.indkey::int2[], a.attnum)
    `.execute(db)
    return rows.map(({ name }) => name)
  },
  page,
  insert: async (db, { name, columns }, rows) => {
    if (rows.length === 0) return
    const names = sql.join(columns.map((column) => sql.ref(column.name)))
    const lists = columns.map((_, at) => sql`${rows.map((row) => row[at])}::text[]`)
    const aliases = sql.join(columns.map((_, at) => sql.ref(`c${at}`)))
    const values = columns.map(({ type }, at) => typed(type, sql.ref(`c${at}`)))
    await sql`
      insert into ${sql.table(name)} (${names}) overriding system value
      select ${sql.join(values)} from unnest(${sql.join(lists)}) as copied(${aliases})
    `.execute(db)
  },
  clear: async (db, table) => {
    await sql`delete from ${sql.table(table)}`.execute(db)
  },
  lastIds: async (db) => {
    const last = new Map<string, number>()
    for (const { table, sequence } of await sequences(db)) {
      const { rows } = await sql<{ last: number }>`
        select case when is_called then last_value else last_value - 1 end as last from ${sql.raw(sequence)}
      `.execute(db)
      last.set(table, rows[0]?.last ?? 0)
    }
    return last
  },
  setLastIds: async (db, lastIds) => {
    for (const { table, sequence } of await sequences(db)) {
      const last = lastIds.get(table) ?? 0
      await sql`select setval(${sequence}::regclass, ${Math.max(1, last)}::bigint, ${last > 0}::boolean)`.execute(
        db,
      )
    }
  },
  refuses: (text) => text.includes('\u0000'),
}

// As their pools name themselves.
const daemonName = 'tapchipd'

/** Connections of running daemons, which ask for changes several times a second. */
export async function daemonConnections(db: Queries): Promise<number> {
  const { rows } = await sql<{ users: number }>`
    select count(*) as users from pg_stat_activity
    where datname = current_database() and application_name = ${daemonName}
  `.execute(db)
  return rows[0]?.users ?? 0
}
