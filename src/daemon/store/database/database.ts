import type { DialectAdapter, Expression, Kysely, RawBuilder } from 'kysely'
import type { AppliedColumn } from '../../../values/chip-columns.ts'
import type { Database } from '../schema/schema.ts'
import type { TapInsert } from '../taps/tap-insert.ts'

export type Queries = Kysely<Database>

/**
 * Must await only queries, because other writes wait for it. May be run more than once, if other daemons write the
 * same rows, so it must change nothing but the database.
 */
export type WriteJob<T> = (trx: Queries) => Promise<T>

/** The database server is currently unavailable, or its answer was lost. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /** True if the connection was lost during a commit: the changes may be there or not. */
  readonly isOutcomeUnknown: boolean
  /** True if it was refused because too many others wait for the server. */
  readonly isRefused: boolean
  constructor(cause: unknown, { isOutcomeUnknown = false, isRefused = false } = {}) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.isOutcomeUnknown = isOutcomeUnknown
    this.isRefused = isRefused
  }
}

/** A server's database is backed up with the server's own tools. */
export class BackupElsewhere extends Error {
  override readonly name = 'BackupElsewhere'
}

export interface Db {
  readonly read: Queries
  /** For slow queries, which do not delay taps. */
  readonly slow: Queries
  /**
   * For queries made several times a second: has priority over requests, and fails at once instead of retrying.
   * Absent if no other daemon writes to this database.
   */
  readonly changeFeed?: Queries
  /** Resolves after the write is on disk. A job that throws is rolled back without affecting other jobs. */
  write<T>(job: WriteJob<T>): Promise<T>
  /**
   * Uses a tap up and records it, on disk when this resolves. Taps that arrive together share a commit.
   * @returns the ID of the tap; undefined if nothing was written, because its counter is used up or its chip has
   * changed
   * @throws DatabaseUnavailable
   */
  takeTap(tap: TapInsert): Promise<number | undefined>
  readonly maintenance: Maintenance
  close(): Promise<void>
}

export interface Maintenance {
  /** Includes the write-ahead log. */
  sizeBytes(): Promise<number>
  /** @returns `ok` or a description of the damage. Reads the whole database. */
  quickCheck(): Promise<string>
  /**
   * Copies committed data into a new file with owner-only access. Reads and writes continue.
   * @throws BackupElsewhere
   */
  backupTo(path: string): Promise<void>
  /** Only for a database on a server. @throws DatabaseUnavailable */
  serverState?(): Promise<ServerState>
  /** Checks within the given time why a server cannot serve taps; undefined: it can. */
  serverTrouble?(withinMs: number): Promise<ServerTrouble | undefined>
  /** The current state, without asking the server. */
  serverUse?(): Pick<ServerState, 'pools' | 'conflicts' | 'lostConnections'>
}

export interface ServerTrouble {
  /** Host and port. */
  readonly server: string
  /**
   * `no_room`: all its connections are in use. `refused`: it answers but does not admit the daemon, or not yet.
   * `silent`: no answer in time. `down`: nothing listens there, or it ends connections.
   */
  readonly reason: 'no_room' | 'read_only' | 'refused' | 'silent' | 'down'
}

export interface ServerState {
  /** Host and database, without a password. */
  readonly name: string
  readonly version: string
  /** Round-trip time of one query. */
  readonly latencyMs: number
  /** Servers that replicate from it; empty if the server does not report them. */
  readonly standbys: Standby[]
  readonly pools: PoolCounts[]
  /** Since the start: work repeated after a conflict or because a server was lost. */
  readonly conflicts: number
  readonly lostConnections: number
}

export interface Standby {
  readonly name: string
  readonly syncState: string
  /** How far it lags behind; null: nothing is pending, or this user may not see it. */
  readonly lagSeconds: number | null
  readonly lagBytes: number | null
}

/** This daemon's connections, by purpose. */
export interface PoolCounts {
  readonly pool: 'read' | 'tap' | 'write' | 'slow'
  readonly inUse: number
  /** By their last use; the next use may differ. */
  readonly idle: number
  /** Requests waiting for a connection. */
  readonly waiting: number
  readonly max: number
}

export interface ChipsAsText {
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
  /** Other daemons may use the same database at the same time. */
  readonly isShared: boolean
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: RawBuilder<number>
  /** Bypasses Kysely where the engine supports it. */
  prepare?(sql: string): Prepared
  /** Locks a query's rows until its transaction ends, on engines with concurrent writers. */
  held?<Q extends { forNoKeyUpdate(): Q }>(query: Q): Q
  /** Set if taps are stored in one table per month. */
  readonly tapMonths?: TapMonths
  /** A subquery with the column `value`. One parameter for any number of values keeps the SQL text constant. */
  listed(values: readonly string[]): RawBuilder<string>
  /** Elements of a JSON array, without brackets. */
  chipsAsElements(db: Queries, chipGroupId: number, page: ChipsPage): Promise<ChipsAsText>
  /** Changes with every value that can be applied to a chip. */
  revision(columnOf: (column: AppliedColumn) => Expression<unknown>): RawBuilder<string>
  /** JSON lines in the export format. @param chips the query of `chipsToExport` */
  chipsAsLines(db: Queries, chips: Expression<unknown>): Promise<ChipsAsText>
}

/** Months are YYYY-MM, in UTC. */
export interface TapMonths {
  /** Starts a write transaction; does nothing if one is open. */
  make(db: Queries, month: string): Promise<void>
  /** Months before the given one that have a table, in order. */
  before(db: Queries, month: string): Promise<string[]>
  /** Part of a write. @returns the number of taps deleted with it */
  drop(db: Queries, month: string): Promise<{ taps: number; refused: number }>
  /** The number of all taps; an estimate if there are very many. */
  count(db: Queries): Promise<number>
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

/** Other daemons may use the same database at the same time. */
export const isShared = ({ read }: Pick<Db, 'read'>): boolean => engineOf(read).isShared

/**
 * Rows per write, for a `Pace` of this database: time spent in the server does not block this process or delay taps,
 * so there is nothing to adapt to.
 */
export const rowsPerBatch = (db: Pick<Db, 'read'>, bounds: { min: number; max: number }) =>
  isShared(db) ? { min: bounds.max, max: bounds.max } : bounds
