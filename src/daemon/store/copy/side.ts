import { type RawBuilder, sql } from 'kysely'
import type { Db, Queries } from '../database/database.ts'

export interface Column {
  readonly name: string
  readonly type: 'integer' | 'text' | 'blob'
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The primary key: pages are in its order. */
  readonly key: readonly string[]
}

/** A value as text, the same on every engine: digits, the text, or lower-case hex. */
export type Cell = string | null
export type Row = readonly Cell[]

/** Each engine's own SQL to read and write whole tables. */
export interface Copying {
  asText(column: Column): RawBuilder<Cell>
  /** @param value a parameter, or SQL that is text */
  fromText(type: Column['type'], value: unknown): RawBuilder<unknown>
  insert(db: Queries, table: Table, rows: readonly Row[]): Promise<void>
  /** The highest ID ever assigned, by table. */
  lastIds(db: Queries, tables: readonly Table[]): Promise<Map<string, number>>
  setLastIds(db: Queries, lastIds: ReadonlyMap<string, number>): Promise<void>
  /** True for text that the engine cannot store. */
  refuses(text: string): boolean
}

/** One of the two databases. */
export interface Side {
  readonly db: Db
  /** For reading the whole database. */
  readonly reader: Queries
  readonly copying: Copying
  /** For people, without a password. */
  readonly name: string
  /** @returns the number of other programs that use it; a data directory is locked instead */
  users(): Promise<number>
  close(): Promise<void>
}

/** The operator can fix it: the message is enough. */
export class CopyProblem extends Error {
  override readonly name = 'CopyProblem'
}

export async function countRows(db: Queries, table: string): Promise<number> {
  const { rows } = await db
    .selectFrom(sql.table(table).as('counted'))
    .select((e) => e.fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  return rows
}
