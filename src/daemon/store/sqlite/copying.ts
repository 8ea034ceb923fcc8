import { type RawBuilder, sql } from 'kysely'
import type { Column, Copying, Page, Row, Table } from '../copy/side.ts'
import { engineOf, type Queries } from '../database/database.ts'

const asText = ({ name, type }: Column): RawBuilder<unknown> => {
  if (type === 'integer') return sql`cast(${sql.ref(name)} as text)`
  return type === 'blob' ? sql`lower(hex(${sql.ref(name)}))` : sql.ref(name)
}

/** hex() of null is an empty text. */
const cell = (column: Column): RawBuilder<unknown> =>
  column.type === 'blob' ? sql`iif(${sql.ref(column.name)} is null, null, ${asText(column)})` : asText(column)

const fromText: Readonly<Record<Column['type'], string>> = {
  integer: 'cast(? as integer)',
  text: '?',
  blob: 'unhex(?)',
}

const typed = (type: Column['type'], value: unknown): RawBuilder<unknown> =>
  type === 'integer' ? sql`cast(${value} as integer)` : type === 'blob' ? sql`unhex(${value})` : sql`${value}`

const inserts = ({ name, columns }: Table): string =>
  `insert into "${name}" (${columns.map((column) => `"${column.name}"`).join(', ')}) ` +
  `values (${columns.map(({ type }) => fromText[type]).join(', ')})`

async function page(db: Queries, { table, key, after, limit }: Page): Promise<Row[]> {
  const names = sql.join(key.map((name) => sql.ref(name)))
  const types = key.map((name) => table.columns.find((column) => column.name === name)?.type ?? 'text')
  const past = after
    ? sql`where (${names}) > (${sql.join(types.map((type, at) => typed(type, after[at])))})`
    : sql``
  const cells = table.columns.map((column, at) => sql`${cell(column)} as ${sql.ref(`c${at}`)}`)
  const { rows } = await sql<Record<string, string | null>>`
    select ${sql.join(cells)} from ${sql.table(table.name)} ${past} order by ${names} limit ${limit}
  `.execute(db)
  return rows.map((row) => Object.values(row))
}

export const sqliteCopying: Copying = {
  keyOf: async (db, table) => {
    const { rows } = await sql<{ name: string }>`
      select name from pragma_table_info(${table}) where pk > 0 order by pk
    `.execute(db)
    return rows.map(({ name }) => name)
  },
  page,
  insert: async (db, table, rows) => {
    const insert = engineOf(db).prepare?.(inserts(table))
    for (const row of rows) await insert?.run(row)
  },
  clear: async (db, table) => {
    await sql`delete from ${sql.table(table)}`.execute(db)
  },
  lastIds: async (db, tables) => {
    const { rows } = await sql<{ name: string; seq: number }>`select name, seq from sqlite_sequence`.execute(
      db,
    )
    const given = new Map(rows.map(({ name, seq }) => [name, seq]))
    // SQLite numbers the rows of other tables from their highest ID.
    for (const table of tables) {
      const key = await sqliteCopying.keyOf(db, table)
      if (key.join() !== 'id') continue
      const { rows: highest } = await sql<{ id: number | null }>`
        select max(id) as id from ${sql.table(table)}
      `.execute(db)
      given.set(table, Math.max(given.get(table) ?? 0, Number(highest[0]?.id ?? 0)))
    }
    return given
  },
  setLastIds: async (db, lastIds) => {
    const { rows } = await sql<{ name: string }>`
      select name from sqlite_schema where type = 'table' and sql like '%autoincrement%'
    `.execute(db)
    for (const { name } of rows) {
      await sql`delete from sqlite_sequence where name = ${name}`.execute(db)
      await sql`insert into sqlite_sequence (name, seq) values (${name}, cast(${lastIds.get(name) ?? 0} as integer))`.execute(
        db,
      )
    }
  },
  refuses: () => false,
}

/** The tables of a migrated database, each after those that it refers to. */
export async function layoutOf(db: Queries): Promise<Table[]> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema
    where type = 'table' and name not like 'sqlite@_%' escape '@' and name not like 'kysely@_%' escape '@'
    order by name
  `.execute(db)
  const found = new Map<string, Table & { refersTo: string[] }>()
  for (const { name } of rows) {
    const columns = await sql<{ name: string; type: string }>`
      select name, lower(type) as type from pragma_table_info(${name})
    `.execute(db)
    const references = await sql<{ table: string }>`
      select "table" from pragma_foreign_key_list(${name})
    `.execute(db)
    found.set(name, {
      name,
      columns: columns.rows.map(({ name, type }) => ({ name, type: type as Column['type'] })),
      refersTo: references.rows.map(({ table }) => table),
    })
  }
  const ordered = new Set<Table>()
  const add = (name: string): void => {
    const table = found.get(name)
    if (!table || ordered.has(table)) return
    found.delete(name)
    table.refersTo.forEach(add)
    ordered.add({ name, columns: table.columns })
  }
  for (const { name } of rows) add(name)
  return [...ordered]
}
