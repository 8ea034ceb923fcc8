import type { DialectAdapter, Kysely, RawBuilder } from 'kysely'
import type { Database } from './schema.ts'

/** The whole database for reads, or one write's transaction. */
export type Queries = Kysely<Database>

/** A write that runs in a transaction. It awaits queries and nothing else, since others wait behind it. */
export type WriteJob<T> = (trx: Queries) => Promise<T>

export interface Db {
  /** Sees what is committed. */
  readonly read: Queries
  /** The same, for queries that may take long: taps do not wait for them. */
  readonly slow: Queries
  /** Resolves once the write is on disk. A job that throws leaves no trace, and takes no other with it. */
  write<T>(job: WriteJob<T>): Promise<T>
  readonly maintenance: Maintenance
  close(): Promise<void>
}

export interface Maintenance {
  /** Including what is not checkpointed yet. */
  sizeBytes(): Promise<number>
  /** `ok`, or what is damaged. Reads the whole database. */
  quickCheck(): Promise<string>
  /** Copies what is committed into a new file that only its owner may read, while reads and writes go on. */
  backupTo(path: string): Promise<void>
}

/** A page of chips, written as text by the database. */
export interface ChipsText {
  text: string
  rows: number
  /** The last UID, null where there is none. */
  last: string | null
}

/** A compiled query of fixed text on one connection. */
export interface Prepared {
  all(parameters: readonly unknown[]): Promise<unknown[]>
  first(parameters: readonly unknown[]): Promise<unknown>
  /** @returns the number of rows that it inserted, changed or deleted; for queries that return none */
  run(parameters: readonly unknown[]): Promise<number>
}

/** The SQL of one database engine. All other queries are Kysely's and run on every engine. */
export interface Engine {
  /** Compiled queries are kept by it. */
  readonly name: string
  /** A shorter way to run a query than Kysely's own, where the engine has one. */
  prepare?(sql: string): Prepared
  /** A subquery with the column `value`: a list of any length as one parameter, so that the query's text stays the same. */
  listed(values: readonly string[]): RawBuilder<string>
  /** One page of a chip group as the elements of a JSON array, without its brackets. */
  chipsAsElements(db: Queries, chipGroupId: number, page: ChipsPage): Promise<ChipsText>
  /** One page of a chip group as JSON lines: what an export says of a chip. */
  chipsAsLines(db: Queries, group: { id: number; name: string }, page: ChipsPage): Promise<ChipsText>
}

export interface ChipsPage {
  /** The UID that the page begins after. */
  after: string
  limit: number
}

/** An engine's dialect gives Kysely an adapter of this kind: transactions and plugins keep it. */
export interface EngineAdapter extends DialectAdapter {
  readonly engine: Engine
}

export function engineOf(db: Queries): Engine {
  const { adapter } = db.getExecutor()
  if (!('engine' in adapter)) throw new Error('This Kysely was not opened by the store')
  return (adapter as EngineAdapter).engine
}
