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

/** The server of the database cannot be used at the moment, or its answer was lost. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /** True if the connection was lost during a commit: what was written may be there, or not. */
  readonly isOutcomeUnknown: boolean
  /** True if so many wait for the server that this one is not to wait as well. */
  readonly isRefused: boolean
  constructor(cause: unknown, { isOutcomeUnknown = false, isRefused = false } = {}) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.isOutcomeUnknown = isOutcomeUnknown
    this.isRefused = isRefused
  }
}

/** Copies of a server's database are made with the server's own tools. */
export class BackupElsewhere extends Error {
  override readonly name = 'BackupElsewhere'
}

export interface Db {
  readonly read: Queries
  /** For slow queries, which do not delay taps. */
  readonly slow: Queries
  /**
   * For what is asked several times a second: goes before requests, and fails at once where others would try again.
   * Absent if no other daemon writes to this database.
   */
  readonly changeFeed?: Queries
  /** Resolves after the write is on disk. A job that throws is rolled back without affecting other jobs. */
  write<T>(job: WriteJob<T>): Promise<T>
  /**
   * Uses a tap up and records it, on disk when this resolves. Taps that come together share a commit.
   * @returns the ID of the tap; undefined, with nothing written: its counter is used up, or its chip has changed
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
  /** Why a server serves no taps, found out within the time given; undefined: it does. */
  serverTrouble?(withinMs: number): Promise<ServerTrouble | undefined>
  /** The current state, without asking the server. */
  serverUse?(): Pick<ServerState, 'pools' | 'conflicts' | 'lostConnections'>
}

export interface ServerTrouble {
  /** Host and port. */
  readonly server: string
  /**
   * `no_room`: all its connections are taken. `refused`: it answers, and does not let the daemon in, or not yet. `silent`:
   * no answer in time. `down`: nothing listens there, or it ends connections.
   */
  readonly reason: 'no_room' | 'read_only' | 'refused' | 'silent' | 'down'
}

export interface ServerState {
  /** Host and database, without a password. */
  readonly name: string
  readonly version: string
  /** Round-trip time of one query. */
  readonly latencyMs: number
  /** Those that follow the server; empty where it does not tell. */
  readonly standbys: Standby[]
  readonly pools: PoolCounts[]
  /** Since the start: work that was done again after a conflict, or because a server was lost. */
  readonly conflicts: number
  readonly lostConnections: number
}

export interface Standby {
  readonly name: string
  readonly syncState: string
  /** Until it has what the server has; null: nothing is under way, or this user may not see it. */
  readonly lagSeconds: number | null
  readonly lagBytes: number | null
}

/** Connections of this daemon, by what they are used for. */
export interface PoolCounts {
  readonly pool: 'read' | 'tap' | 'write' | 'slow'
  readonly inUse: number
  /** By their last use; anything else may use them next. */
  readonly idle: number
  /** Requests that wait for one. */
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
  /** Makes a query keep its rows from other writes until its own ends, on engines that write at the same time. */
  held?<Q extends { forNoKeyUpdate(): Q }>(query: Q): Q
  /** Where taps are kept in one table a month. */
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
  /** Begins a write; does nothing if it is there. */
  make(db: Queries, month: string): Promise<void>
  /** Those that are kept from before a month, in order. */
  before(db: Queries, month: string): Promise<string[]>
  /** Part of a write. @returns the number of taps that went with it */
  drop(db: Queries, month: string): Promise<{ taps: number; refused: number }>
  /** All taps: an estimate, once there are very many. */
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
 * Rows a write, for a `Pace` of this database: the time that a server takes is none of the daemon's, and holds up no tap,
 * so there is nothing to adapt to.
 */
export const rowsPerBatch = (db: Pick<Db, 'read'>, bounds: { min: number; max: number }) =>
  isShared(db) ? { min: bounds.max, max: bounds.max } : bounds
