import { sql } from 'kysely'
import type { Copying } from '../copy/side.ts'
import type { Queries } from '../database/database.ts'

const fromText: Copying['fromText'] = (type, value) => {
  if (type === 'integer') return sql`${value}::bigint`
  return type === 'blob' ? sql`decode(${value}, 'hex')` : sql`${value}::text`
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
  asText: ({ name, type }) => {
    const column = sql.ref<string | null>(name)
    if (type === 'integer') return sql`${column}::text`
    return type === 'blob' ? sql`encode(${column}, 'hex')` : sql`${column}`
  },
  fromText,
  insert: async (db, { name, columns }, rows) => {
    if (rows.length === 0) return
    const names = sql.join(columns.map((column) => sql.ref(column.name)))
    const lists = columns.map((_, at) => sql`${rows.map((row) => row[at])}::text[]`)
    const aliases = sql.join(columns.map((_, at) => sql.ref(`c${at}`)))
    const values = columns.map(({ type }, at) => fromText(type, sql.ref(`c${at}`)))
    await sql`
      insert into ${sql.table(name)} (${names}) overriding system value
      select ${sql.join(values)} from unnest(${sql.join(lists)}) as copied(${aliases})
    `.execute(db)
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

// The application_name of the pools.
const daemonName = 'tapchipd'

/** Connections of running daemons, which poll for changes several times a second. */
export async function daemonConnections(db: Queries): Promise<number> {
  const { rows } = await sql<{ users: number }>`
    select count(*) as users from pg_stat_activity
    where datname = current_database() and application_name = ${daemonName}
  `.execute(db)
  return rows[0]?.users ?? 0
}
