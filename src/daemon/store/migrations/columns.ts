import { type CreateTableBuilder, sql } from 'kysely'

export const strict = sql`strict`
export const strictClustered = sql`strict, without rowid`

export type Table = CreateTableBuilder<string, string>

// AUTOINCREMENT never reuses the ID of a deleted row.
export const numbered = (table: Table): Table =>
  table.addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())

/** @param names column names, separated by spaces */
export const required =
  (type: 'text' | 'integer' | 'blob', names: string) =>
  (table: Table): Table =>
    names.split(' ').reduce<Table>((t, name) => t.addColumn(name, type, (c) => c.notNull()), table)

export const optional =
  (type: 'text' | 'integer' | 'blob', names: string) =>
  (table: Table): Table =>
    names.split(' ').reduce<Table>((t, name) => t.addColumn(name, type), table)

export const createdAt = (table: Table): Table => table.addColumn('createdAt', 'text', (c) => c.notNull())

export const ofTeam = (table: Table): Table =>
  table.addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id'))

export const credential = (table: Table): Table =>
  table
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .$call(required('text', 'scopes createdAt'))
    .$call(optional('text', 'expiresAt revokedAt mac seal'))
