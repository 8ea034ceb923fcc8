import { sql } from 'kysely'
import type { Column, Copying, Table } from '../copy/side.ts'
import { engineOf, type Queries } from '../database/database.ts'

const castTypes: Readonly<Record<Column['type'], string>> = {
  integer: 'cast(? as integer)',
  text: '?',
  blob: 'unhex(?)',
}

const inserts = ({ name, columns }: Table): string =>
  `insert into "${name}" (${columns.map((column) => `"${column.name}"`).join(', ')}) ` +
  `values (${columns.map(({ type }) => castTypes[type]).join(', ')})`

export const sqliteCopying: Copying = {
  asText: ({ name, type }) => {
    const column = sql.ref<string | null>(name)
    if (type === 'integer') return sql`cast(${column} as text)`
    // hex() of null is an empty text.
    return type === 'blob' ? sql`iif(${column} is null, null, lower(hex(${column})))` : sql`${column}`
  },
  fromText: (type, value) =>
    type === 'integer'
      ? sql`cast(${value} as integer)`
      : type === 'blob'
        ? sql`unhex(${value})`
        : sql`${value}`,
  insert: async (db, table, rows) => {
    const insert = engineOf(db).prepare?.(inserts(table))
    for (const row of rows) await insert?.run(row)
  },
  lastIds: async (db, tables) => {
    const { rows } = await sql<{ name: string; seq: number }>`select name, seq from sqlite_sequence`.execute(
      db,
    )
    const sequences = new Map(rows.map(({ name, seq }) => [name, seq]))
    // SQLite assigns IDs of other tables from their highest ID.
    for (const { name, key } of tables) {
      if (key.join() !== 'id') continue
      const { rows: highest } = await sql<{ id: number | null }>`
        select max(id) as id from ${sql.table(name)}
      `.execute(db)
      sequences.set(name, Math.max(sequences.get(name) ?? 0, Number(highest[0]?.id ?? 0)))
    }
    return sequences
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

/** Tables of a migrated database, each after those that it refers to. */
export async function layoutOf(db: Queries): Promise<Table[]> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema
    where type = 'table' and name not like 'sqlite@_%' escape '@' and name not like 'kysely@_%' escape '@'
    order by name
  `.execute(db)
  const found = new Map<string, Table & { refersTo: string[] }>()
  for (const { name } of rows) {
    const columns = await sql<{ name: string; type: Column['type']; pk: number }>`
      select name, lower(type) as type, pk from pragma_table_info(${name})
    `.execute(db)
    const references = await sql<{ table: string }>`
      select "table" from pragma_foreign_key_list(${name})
    `.execute(db)
    const key = columns.rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    found.set(name, {
      name,
      columns: columns.rows.map(({ name, type }) => ({ name, type })),
      key: key.map(({ name }) => name),
      refersTo: references.rows.map(({ table }) => table),
    })
  }
  const ordered = new Set<Table>()
  const add = (name: string): void => {
    const table = found.get(name)
    if (!table) return
    found.delete(name)
    table.refersTo.forEach(add)
    ordered.add(table)
  }
  for (const { name } of rows) add(name)
  return [...ordered]
}
