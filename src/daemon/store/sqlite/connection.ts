import { statSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { EngineAdapter, Prepared } from '../database.ts'
import type { Database } from '../schema.ts'
import { sqliteEngine } from './engine.ts'

export type Connection = BetterSqlite3.Database

export interface Opened {
  connection: Connection
  kysely: Kysely<Database>
  /** Of a reader: makes the next query see what was committed until now. */
  refresh(): void
}

/**
 * Lets the reads of one turn of the event loop share a read transaction: beginning one takes and frees locks by
 * system calls, which cost more than a read by key does.
 */
class ReadTurn {
  readonly #connection: Connection
  readonly #begin: BetterSqlite3.Statement
  readonly #commit: BetterSqlite3.Statement
  constructor(connection: Connection) {
    this.#connection = connection
    this.#begin = connection.prepare('BEGIN')
    this.#commit = connection.prepare('COMMIT')
  }
  #isOpen = false
  readonly begin = (): void => {
    if (this.#isOpen) return
    this.#begin.run()
    this.#isOpen = true
    setImmediate(this.end)
  }
  readonly end = (): void => {
    if (!this.#isOpen) return
    this.#isOpen = false
    if (this.#connection.open) this.#commit.run()
  }
}

/** Opens a database file. WAL, and synchronous FULL: an answer that was given survives a power cut. */
export function openSqlite(
  file: string,
  options: { readonly: boolean /** While nobody else is served yet. */; mayWait?: boolean },
): Opened {
  const connection = new BetterSqlite3(file, { readonly: options.readonly })
  connection.pragma('synchronous = FULL')
  connection.pragma('foreign_keys = ON')
  // Nothing waits here, where taps would wait as well: what finds the database locked is tried again later.
  connection.pragma(`busy_timeout = ${options.mayWait ? 5000 : 0}`)
  if (!options.readonly) connection.pragma('journal_mode = WAL')
  connection.pragma('cache_size = -65536')
  connection.pragma('mmap_size = 268435456')
  connection.pragma('temp_store = MEMORY')
  // A checkpoint writes each changed page once, however often it changed: seldom is cheaper. But taps wait for it.
  connection.pragma('wal_autocheckpoint = 2000')
  // After a burst the log goes back to 40 MB.
  connection.pragma(`journal_size_limit = ${40_960_000}`)
  const turn = options.readonly ? new ReadTurn(connection) : undefined
  const beforeQuery = turn?.begin ?? (() => undefined)
  const kysely = new Kysely<Database>({ dialect: new SqliteCachedDialect(connection, beforeQuery) })
  return { connection, kysely, refresh: turn?.end ?? (() => undefined) }
}

/** Moves all of the log into the database file, and empties it. */
export const checkpoint = (connection: Connection) => connection.pragma('wal_checkpoint(TRUNCATE)')

/** As Kysely's own dialect, but statements are prepared once by their text, and nothing waits its turn. */
class SqliteCachedDialect implements Dialect {
  readonly #connection: Connection
  readonly #beforeQuery: () => void
  constructor(connection: Connection, beforeQuery: () => void) {
    this.#connection = connection
    this.#beforeQuery = beforeQuery
  }
  createDriver(): Driver {
    return new CachedDriver(this.#connection, this.#beforeQuery)
  }
  createQueryCompiler() {
    return new SqliteQueryCompiler()
  }
  createAdapter() {
    return new TransactionalAdapter((sql) => prepareOn(this.#connection, this.#beforeQuery, sql))
  }
  createIntrospector(db: Kysely<unknown>) {
    return new SqliteIntrospector(db)
  }
}

// More than the daemon has queries of fixed text. Those of varying length pass through and push out the oldest.
const statementsKept = 500

/** A statement on the connection itself: Kysely is needed to write it, not to run it. */
function prepareOn(connection: Connection, beforeQuery: () => void, sql: string): Prepared {
  let statement: BetterSqlite3.Statement | undefined
  const ready = () => {
    statement ??= connection.prepare(sql)
    beforeQuery()
    return statement
  }
  return {
    all: async (parameters) => ready().all(parameters),
    first: async (parameters) => ready().get(parameters),
    run: async (parameters) => ready().run(parameters).changes,
  }
}

class TransactionalAdapter extends SqliteAdapter implements EngineAdapter {
  readonly engine
  constructor(prepare: (sql: string) => Prepared) {
    super()
    this.engine = { ...sqliteEngine, prepare }
  }
  // Kysely migrates in a transaction only where it is told that it may: a kill in the middle then leaves nothing.
  override get supportsTransactionalDdl() {
    return true
  }
}

class CachedConnection implements DatabaseConnection {
  readonly #connection: Connection
  readonly #beforeQuery: () => void
  readonly #statements = new Map<string, BetterSqlite3.Statement>()
  constructor(connection: Connection, beforeQuery: () => void) {
    this.#connection = connection
    this.#beforeQuery = beforeQuery
  }

  // Deliberately synchronous inside: a group of writes then runs within one turn of the event loop.
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#beforeQuery()
    const statement = this.#prepare(query.sql)
    if (statement.reader) return { rows: statement.all(query.parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(query.parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    // A statement of its own: a cached one would be busy for everybody else until the stream ends.
    for (const row of this.#connection.prepare(query.sql).iterate(query.parameters))
      yield { rows: [row as R] }
  }

  #prepare(sql: string): BetterSqlite3.Statement {
    const kept = this.#statements.get(sql)
    if (kept) return kept
    const statement = this.#connection.prepare(sql)
    if (this.#statements.size >= statementsKept) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    this.#statements.set(sql, statement)
    return statement
  }
}

class CachedDriver implements Driver {
  readonly #connection: Connection
  readonly #cached: CachedConnection
  constructor(connection: Connection, beforeQuery: () => void) {
    this.#connection = connection
    this.#cached = new CachedConnection(connection, beforeQuery)
  }
  async init() {}
  async acquireConnection() {
    return this.#cached
  }
  async releaseConnection() {}
  async beginTransaction() {
    this.#connection.exec('BEGIN IMMEDIATE')
  }
  async commitTransaction() {
    this.#connection.exec('COMMIT')
  }
  async rollbackTransaction() {
    this.#connection.exec('ROLLBACK')
  }
  async destroy() {
    this.#connection.close()
  }
}

/** The size of a database file with its write-ahead log. */
export const sizeBytes = (file: string): number =>
  [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
