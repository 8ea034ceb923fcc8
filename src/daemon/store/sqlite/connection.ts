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
import type { EngineAdapter, Prepared } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'
import { sqliteEngine } from './engine.ts'
import { ReadTurn } from './read-turn.ts'
import { revisionOf } from './revision-of.ts'

export type Connection = BetterSqlite3.Database

export interface Opened {
  connection: Connection
  kysely: Kysely<Database>
  turn: ReadTurn
}

/** synchronous = FULL protects answered writes against power failure. @param options `mayWait` waits for locks */
export function openSqlite(file: string, options: { readonly: boolean; mayWait?: boolean }): Opened {
  const connection = new BetterSqlite3(file, { readonly: options.readonly })
  connection.pragma('synchronous = FULL')
  connection.pragma('foreign_keys = ON')
  // Waiting here would block taps, so callers retry locked queries.
  connection.pragma(`busy_timeout = ${options.mayWait ? 5000 : 0}`)
  if (!options.readonly) connection.pragma('journal_mode = WAL')
  connection.pragma('cache_size = -65536')
  connection.pragma('mmap_size = 268435456')
  connection.pragma('temp_store = MEMORY')
  // The bound for a log that nothing else copies into the database in time. Within a commit, it delays taps.
  connection.pragma('wal_autocheckpoint = 16000')
  // The log shrinks to 40 MB after a burst.
  connection.pragma(`journal_size_limit = ${40_960_000}`)
  connection.function('revision', { deterministic: true }, revisionOf)
  const turn = new ReadTurn(connection)
  return { connection, kysely: kyselyOn(connection, options.readonly ? turn.begin : () => undefined), turn }
}

/**
 * Prepared queries go over the connection that writes, unless it is in the middle of a write: after each commit of another
 * connection, SQLite forgets the pages that it knows.
 */
export function readsBeside(writer: Opened, reader: Opened): Kysely<Database> {
  return kyselyOn(reader.connection, reader.turn.begin, (sql) => {
    const apart = prepareOn(reader.connection, reader.turn.begin, sql)
    // The connection that only reads refuses a change, which the writer's would answer before its commit.
    if (!sql.startsWith('select ')) return apart
    const warm = prepareOn(writer.connection, writer.turn.begin, sql)
    const fitting = () => (writer.turn.isOpen || !writer.connection.inTransaction ? warm : apart)
    return {
      all: (parameters) => fitting().all(parameters),
      first: (parameters) => fitting().first(parameters),
      run: (parameters) => apart.run(parameters),
    }
  })
}

const kyselyOn = (
  connection: Connection,
  beforeQuery: () => void,
  prepare: (sql: string) => Prepared = (sql) => prepareOn(connection, beforeQuery, sql),
) => new Kysely<Database>({ dialect: new SqliteCachedDialect(connection, beforeQuery, prepare) })

/** Also truncates the write-ahead log. */
export const checkpoint = (connection: Connection) => connection.pragma('wal_checkpoint(TRUNCATE)')

/** Like the dialect of Kysely, but caches statements and has no connection queue. */
class SqliteCachedDialect implements Dialect {
  readonly #connection: Connection
  readonly #beforeQuery: () => void
  readonly #prepare: (sql: string) => Prepared
  constructor(connection: Connection, beforeQuery: () => void, prepare: (sql: string) => Prepared) {
    this.#connection = connection
    this.#beforeQuery = beforeQuery
    this.#prepare = prepare
  }
  createDriver(): Driver {
    return new CachedDriver(this.#connection, this.#beforeQuery)
  }
  createQueryCompiler() {
    return new SqliteQueryCompiler()
  }
  createAdapter() {
    return new TransactionalAdapter(this.#prepare)
  }
  createIntrospector(db: Kysely<unknown>) {
    return new SqliteIntrospector(db)
  }
}

// Exceeds the number of fixed queries. Others evict the oldest.
const statementsKept = 500

/**
 * Makes rows of a statement's values. The driver makes an object column by column, from outside of JavaScript, which takes
 * longer than the query: 15 % of a used ref, 6 to 10 % of a replayed tap, and a third of what reading a piece of a sheet takes.
 */
class Rows {
  readonly #from: BetterSqlite3.Statement
  #names: string[] = []

  constructor(from: BetterSqlite3.Statement) {
    this.#from = from.raw()
  }

  all(parameters: readonly unknown[]): Row[] {
    const rows = this.#from.all(parameters) as unknown[][]
    if (rows[0]) this.#fit(rows[0])
    return rows.map((values) => this.#row(values))
  }

  first(parameters: readonly unknown[]): Row | undefined {
    const values = this.#from.get(parameters) as unknown[] | undefined
    if (values) this.#fit(values)
    return values && this.#row(values)
  }

  #fit(values: readonly unknown[]): void {
    // A daemon of a later version may add columns, which stand among those of a join.
    if (values.length !== this.#names.length) this.#names = this.#from.columns().map(({ name }) => name)
  }

  #row(values: readonly unknown[]): Row {
    const row: Row = {}
    let at = 0
    for (const name of this.#names) row[name] = values[at++]
    return row
  }
}

type Row = Record<string, unknown>

interface Ready {
  readonly statement: BetterSqlite3.Statement
  /** Of one that answers rows. */
  readonly rows: Rows | undefined
}

function readyOn(connection: Connection, sql: string): Ready {
  const statement = connection.prepare(sql)
  return { statement, rows: statement.reader ? new Rows(statement) : undefined }
}

function prepareOn(connection: Connection, beforeQuery: () => void, sql: string): Prepared {
  let known: Ready | undefined
  const ready = () => {
    known ??= readyOn(connection, sql)
    beforeQuery()
    return known
  }
  return {
    all: async (parameters) => ready().rows?.all(parameters) ?? [],
    first: async (parameters) => ready().rows?.first(parameters),
    run: async (parameters) => ready().statement.run(parameters).changes,
  }
}

class TransactionalAdapter extends SqliteAdapter implements EngineAdapter {
  readonly engine
  constructor(prepare: (sql: string) => Prepared) {
    super()
    this.engine = { ...sqliteEngine, prepare }
  }
  // Makes Kysely migrate in a transaction, so that a killed migration leaves no changes.
  override get supportsTransactionalDdl() {
    return true
  }
}

class CachedConnection implements DatabaseConnection {
  readonly #connection: Connection
  readonly #beforeQuery: () => void
  readonly #statements = new Map<string, Ready>()
  constructor(connection: Connection, beforeQuery: () => void) {
    this.#connection = connection
    this.#beforeQuery = beforeQuery
  }

  // Synchronous, so that a group of writes runs within one event-loop turn.
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#beforeQuery()
    const { statement, rows } = this.#prepare(query.sql)
    if (rows) return { rows: rows.all(query.parameters) as R[] }
    const { changes, lastInsertRowid } = statement.run(query.parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    // A cached statement would stay busy until the stream ends.
    for (const row of this.#connection.prepare(query.sql).iterate(query.parameters))
      yield { rows: [row as R] }
  }

  #prepare(sql: string): Ready {
    const kept = this.#statements.get(sql)
    if (kept) return kept
    const ready = readyOn(this.#connection, sql)
    if (this.#statements.size >= statementsKept) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    this.#statements.set(sql, ready)
    return ready
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

/** Includes the write-ahead log. */
export const sizeBytes = (file: string): number =>
  [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
