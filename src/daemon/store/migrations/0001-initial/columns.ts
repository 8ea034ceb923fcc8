import { type CreateTableBuilder, sql } from 'kysely'

export const strict = sql`strict`
export const strictClustered = sql`strict, without rowid`

export type Table = CreateTableBuilder<string, string>

// AUTOINCREMENT: an id that was given out is never given out again, also after its row is gone.
export const numbered = (table: Table): Table =>
  table.addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())

export const createdAt = (table: Table): Table => table.addColumn('createdAt', 'text', (c) => c.notNull())

export const ofTeam = (table: Table): Table =>
  table.addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id'))

export const credential = (table: Table): Table =>
  table
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'text', (c) => c.notNull())
    .addColumn('expiresAt', 'text')
    .addColumn('revokedAt', 'text')
