import type { DialectAdapter, Expression, Kysely, RawBuilder } from 'kysely'
import type { Database } from './schema.ts'

export type Queries = Kysely<Database>

/** Must await only queries, because other writes wait for it. */
export type WriteJob<T> = (trx: Queries) => Promise<T>

export interface Db {
  readonly read: Queries
  /** For slow queries, which do not delay taps. */
  readonly slow: Queries
  /** Resolves after the write is on disk. A job that throws is rolled back without affecting other jobs. */
  write<T>(job: WriteJob<T>): Promise<T>
  readonly maintenance: Maintenance
  close(): Promise<void>
}

export interface Maintenance {
  /** Includes the write-ahead log. */
  sizeBytes(): Promise<number>
  /** @returns `ok` or a description of the damage. Reads the whole database. */
  quickCheck(): Promise<string>
  /** Copies committed data into a new file with owner-only access. Reads and writes continue. */
  backupTo(path: string): Promise<void>
}

export interface ChipsText {
  text: string
  rows: number
  /** The last UID; null if the page is empty. */
  last: string | null
}

export interface Prepared {
  all(parameters: readonly unknown[]): Promise<unknown[]>
  first(parameters: readonly unknown[]): Promise<unknown>
  /** @returns the number of changed rows; for queries without result rows */
  run(parameters: readonly unknown[]): Promise<number>
}

/** SQL that differs between engines. All other queries use Kysely. */
export interface Engine {
  /** Cache key of compiled queries. */
  readonly name: string
  /** Bypasses Kysely where the engine supports it. */
  prepare?(sql: string): Prepared
  /** A subquery with the column `value`. One parameter for any number of values keeps the SQL text constant. */
  listed(values: readonly string[]): RawBuilder<string>
  /** Elements of a JSON array, without brackets. */
  chipsAsElements(db: Queries, chipGroupId: number, page: ChipsPage): Promise<ChipsText>
  /** Changes with every value that can be applied to a chip. */
  revision(
    joined: { [column in 'chipGroup' | 'contractAddress' | 'chainId' | 'tokenId']: Expression<unknown> },
  ): RawBuilder<string>
  /** JSON lines in the export format. @param chips the query of `chipsToExport` */
  chipsAsLines(db: Queries, chips: Expression<unknown>): Promise<ChipsText>
}

export interface ChipsPage {
  after: string
  limit: number
}

/** Kysely transactions and plugins keep the adapter, so it can carry the engine. */
export interface EngineAdapter extends DialectAdapter {
  readonly engine: Engine
}

export function engineOf(db: Queries): Engine {
  const { adapter } = db.getExecutor()
  if (!('engine' in adapter)) throw new Error('This Kysely was not opened by the store')
  return (adapter as EngineAdapter).engine
}
