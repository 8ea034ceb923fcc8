import { sql } from 'kysely'
import type { Db, Queries } from '../database/database.ts'

export interface Column {
  readonly name: string
  readonly type: 'integer' | 'text' | 'blob'
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
}

/** A value as text, the same on every engine: digits, the text, or lower-case hex. */
export type Cell = string | null
export type Row = readonly Cell[]

/** Reads and writes whole tables in an engine's own SQL. */
export interface Copying {
  /** Columns of the primary key, which pages are in the order of. */
  keyOf(db: Queries, table: string): Promise<string[]>
  /** @param after values of the key @returns rows in the order of the key, with all columns of the table */
  page(db: Queries, page: Page): Promise<Row[]>
  insert(db: Queries, table: Table, rows: readonly Row[]): Promise<void>
  clear(db: Queries, table: string): Promise<void>
  /** The highest ID that was ever given, by table. */
  lastIds(db: Queries, tables: readonly string[]): Promise<Map<string, number>>
  setLastIds(db: Queries, lastIds: ReadonlyMap<string, number>): Promise<void>
  /** True for text that the engine cannot store. */
  refuses(text: string): boolean
}

export interface Page {
  readonly table: Table
  readonly key: readonly string[]
  readonly after: Row | undefined
  readonly limit: number
}

/** One of the two databases. */
export interface Side {
  readonly db: Db
  /** For reading all of it. */
  readonly reader: Queries
  readonly copying: Copying
  /** For people, without a password. */
  readonly name: string
  /** @returns how many other programs use it; a data directory is locked instead */
  users(): Promise<number>
  close(): Promise<void>
}

/** The operator can put it right: the message is enough. */
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

export const valuesOf = ({ columns }: Table, row: Row, names: readonly string[]): Cell[] =>
  names.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null)
