import BetterSqlite3 from 'better-sqlite3'
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import type { EngineAdapter, Prepared } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'
import { sqliteEngine } from './engine.ts'
import { revisionOf } from './revision-of.ts'

export type Connection = BetterSqlite3.Database

export interface Opened {
  connection: Connection
  kysely: Kysely<Database>
  readTurn: ReadTurn
}

/**
 * Reads of one event-loop turn share a transaction, because locking costs more than a read by key: 12 % of a used ref, and 5 %
 * of a replayed tap.
 */
export class ReadTurn {
  readonly #connection: Connection
  readonly #begin: BetterSqlite3.Statement
  readonly #commit: BetterSqlite3.Statement
  constructor(connection: Connection) {
    this.#connection = connection
    this.#begin = connection.prepare('BEGIN')
    this.#commit = connection.prepare('COMMIT')
  }
  #isOpen = false
  get isOpen(): boolean {
    return this.#isOpen
  }
  readonly begin = (): void => {
    if (this.#isOpen) return
    this.#begin.run()
    this.#isOpen = true
    setImmediate(this.end)
  }
  /** The next query sees all commits. */
  readonly end = (): void => {
    if (!this.#isOpen) return
    this.#isOpen = false
    // SQLite itself ends a transaction after a disk error.
    if (this.#connection.open && this.#connection.inTransaction) this.#commit.run()
  }
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
  // The size of a log that nothing else copies in time. Then a commit copies it, which delays taps.
  connection.pragma('wal_autocheckpoint = 16000')
  // The log shrinks to 40 MB after a burst.
  connection.pragma(`journal_size_limit = ${40_960_000}`)
  connection.function('revision', { deterministic: true }, revisionOf)
  const readTurn = new ReadTurn(connection)
  return {
    connection,
    kysely: kyselyOn(connection, options.readonly ? readTurn.begin : () => undefined),
    readTurn,
  }
}

/**
 * Prepared queries go over the connection that writes, unless it is in the middle of a write: after each commit of another
 * connection, SQLite forgets the pages that it knows.
 */
export function readsBeside(writer: Opened, reader: Opened): Kysely<Database> {
  return kyselyOn(reader.connection, reader.readTurn.begin, (sql) => {
    const viaReader = prepareOn(reader.connection, reader.readTurn.begin, sql)
    // The read-only connection refuses changes; the writer's would answer one before its commit.
    if (!sql.startsWith('select ')) return viaReader
    const viaWriter = prepareOn(writer.connection, writer.readTurn.begin, sql)
    const pickConnection = () =>
      writer.readTurn.isOpen || !writer.connection.inTransaction ? viaWriter : viaReader
    return {
      all: (parameters) => pickConnection().all(parameters),
      first: (parameters) => pickConnection().first(parameters),
      run: (parameters) => viaReader.run(parameters),
    }
  })
}

const kyselyOn = (
  connection: Connection,
  beforeQuery: () => void,
  prepare: (sql: string) => Prepared = (sql) => prepareOn(connection, beforeQuery, sql),
) => new Kysely<Database>({ dialect: new StoreDialect(connection, beforeQuery, prepare) })

/** Kysely's dialect for a connection that caches its statements. */
class StoreDialect extends SqliteDialect {
  readonly #prepare: (sql: string) => Prepared
  constructor(connection: Connection, beforeQuery: () => void, prepare: (sql: string) => Prepared) {
    super({ database: withKeptStatements(connection, beforeQuery) })
    this.#prepare = prepare
  }
  override createAdapter() {
    return new StoreAdapter(this.#prepare)
  }
}

class StoreAdapter extends SqliteAdapter implements EngineAdapter {
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

// Exceeds the number of fixed queries. Others evict the oldest.
const maxStatements = 500

function withKeptStatements(connection: Connection, beforeQuery: () => void): SqliteDatabase {
  const statements = new Map<string, Statement>()
  return {
    prepare: (sql) => {
      const kept = statements.get(sql)
      if (kept) return kept
      const made = new Statement(connection, beforeQuery, sql)
      const [oldest] = statements.size >= maxStatements ? statements.keys() : []
      if (oldest !== undefined) statements.delete(oldest)
      statements.set(sql, made)
      return made
    },
    close: () => connection.close(),
  }
}

type Row = Record<string, unknown>

/**
 * Builds rows from a statement's values. The driver builds objects column by column from native code, with which a
 * list takes 1.6 times as long to read, and a used ref 5 to 15 % longer.
 */
class Statement implements SqliteStatement {
  readonly reader: boolean
  readonly #statement: BetterSqlite3.Statement
  readonly #beforeQuery: () => void
  #columns: string[] = []

  constructor(connection: Connection, beforeQuery: () => void, sql: string) {
    this.#statement = connection.prepare(sql)
    this.reader = this.#statement.reader
    if (this.reader) this.#statement.raw()
    this.#beforeQuery = beforeQuery
  }

  all(parameters: readonly unknown[]): Row[] {
    this.#beforeQuery()
    const rows = this.#statement.all(parameters) as unknown[][]
    return rows.map((values) => this.#row(values))
  }

  first(parameters: readonly unknown[]): Row | undefined {
    this.#beforeQuery()
    const values = this.#statement.get(parameters) as unknown[] | undefined
    return values && this.#row(values)
  }

  run(parameters: readonly unknown[]) {
    this.#beforeQuery()
    return this.#statement.run(parameters)
  }

  iterate(): never {
    throw new Error('What is streamed is read in pages')
  }

  #row(values: readonly unknown[]): Row {
    // A later version's daemon may add columns, which appear between those of a join.
    if (values.length !== this.#columns.length)
      this.#columns = this.#statement.columns().map(({ name }) => name)
    const row: Row = {}
    let at = 0
    for (const name of this.#columns) row[name] = values[at++]
    return row
  }
}

function prepareOn(connection: Connection, beforeQuery: () => void, sql: string): Prepared {
  let made: Statement | undefined
  const statement = () => {
    made ??= new Statement(connection, beforeQuery, sql)
    return made
  }
  return {
    all: async (parameters) => statement().all(parameters),
    first: async (parameters) => statement().first(parameters),
    run: async (parameters) => statement().run(parameters).changes,
  }
}
