import type { ClientConfig } from 'pg'
import { DatabaseUnavailable } from '../database/database.ts'
import { driver, isServerError } from './driver.ts'

/** Several hosts: whichever accepts writes is used. */
export interface Servers {
  /** One URL per host, with the same user, database, and options. */
  readonly urls: readonly string[]
}

/** Passwords are rarely encoded, so the host begins after the last @ that may stand before it. */
function partsOf(url: string): {
  scheme: string
  user: string
  hosts: string
  path: string
  options: string
} {
  const found = /^(postgres(?:ql)?:\/\/)(?:(.*)@)?([^@/?#]*)(\/[^@/?#]*)?(\?.*)?$/s.exec(url)
  const [, scheme = 'postgres://', user = '', hosts = '', path = '', options = ''] = found ?? []
  return { scheme, user, hosts, path, options }
}

const encoded = (user: string): string => user.replace(/[/?#@[\]]/g, encodeURIComponent)

/** @param url `postgres://USER:PASSWORD@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…]` */
export function serversOf(url: string): Servers {
  const { scheme, user, hosts, path, options } = partsOf(url)
  const front = user === '' ? scheme : `${scheme}${encoded(user)}@`
  return { urls: hosts.split(',').map((host) => front + host + path + options) }
}

/** Host and database without the password, for people. */
export function nameOfDatabase(url: string): string {
  const { hosts, path } = partsOf(url)
  return `postgres://${hosts}${path}`
}

/** Host and port. @param url of one server */
export function addressOf(url: string): string {
  const { hosts } = partsOf(url)
  return /:\d+$/.test(hosts) ? hosts : `${hosts}:5432`
}

// Whole numbers up to 2^53 fit: IDs, counters, sums of counts. Anything larger is text in this schema.
const int8 = 20
const numeric = 1700
const toNumber = (text: string): number => Number(text)
const ownTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric ? toNumber : driver().types.getTypeParser(oid, format),
} as ClientConfig['types']

/** For opening a connection and for a server to report its state, in milliseconds. */
export const connectMs = 3000

/** Options of all connections. */
export const common = {
  // Starts a transaction in the same round trip as its first query.
  pipeline: true,
  types: ownTypes,
  keepAlive: true,
  connectionTimeoutMillis: connectMs,
  application_name: 'tapchipd',
} as ClientConfig

/**
 * Errors of the connection, or of a server that starts, stops, is full, or became a standby; not errors of the query.
 */
const lostStates = /^(08|25006|25P0[34]|53(?!100)|57014|57P0[1-5]|58)/

/** The answer of the server; undefined where there was none. */
export const sqlStateOf = (error: unknown): string | undefined =>
  isServerError(error) ? error.code : undefined

/** @returns the error as DatabaseUnavailable, if the server did not answer the query */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error
  const state = sqlStateOf(error)
  if (isServerError(error) ? state !== undefined && lostStates.test(state) : error instanceof Error)
    return new DatabaseUnavailable(error)
  return withoutValues(error)
}

/** The server quotes values, which may be codes, and errors are logged. */
function withoutValues(error: unknown): unknown {
  if (isServerError(error))
    Object.assign(error, { detail: undefined, where: undefined, internalQuery: undefined })
  return error
}

/** Taps of months that have no partition yet; few, since housekeeping makes them ahead. */
export const otherMonths = 'taps_other'

/** The server or a pooler is full. Existing connections still work. */
export const isNoRoom = (error: unknown): boolean =>
  sqlStateOf(error) === '53300' || (isServerError(error) && error.message.startsWith('no more connections'))

/** Another transaction was faster: the same work can succeed when repeated from its beginning. */
export const isConflict = (error: unknown): boolean =>
  (/^40|^55P03$/.test(sqlStateOf(error) ?? '') && !isAmbiguous(error)) || isMonthNew(error)

/** While a tap was being written to the default partition, its month got its own partition. */
const isMonthNew = (error: unknown): boolean =>
  isServerError(error) && error.code === '23514' && error.table === otherMonths

/** CockroachDB and YugabyteDB report this where PostgreSQL closes the connection. */
const isAmbiguous = (error: unknown): boolean => sqlStateOf(error) === '40003'

/** Errors that have no effect. */
const undone = /^(25006|53|57014|58)/

/** The driver knew that the connection was closed, and sent nothing. */
const isUnsent = (error: unknown): boolean =>
  error instanceof Error && !isServerError(error) && error.message.endsWith('is not queryable')

/** @returns true if a commit may have succeeded nevertheless */
export const mayBeDone = (error: unknown): boolean =>
  isAmbiguous(error) ||
  (asUnavailable(error) instanceof DatabaseUnavailable &&
    !undone.test(sqlStateOf(error) ?? '') &&
    !isUnsent(error))

/** A concurrent insert may surface as unique_violation instead of serialization_failure. */
export const isDuplicate = (error: unknown): boolean => sqlStateOf(error) === '23505'

/** A pooler ran the query on another connection than its preparation. */
export const isUnprepared = (error: unknown): boolean => /^(26000|42P05)$/.test(sqlStateOf(error) ?? '')

/** A later version's daemon added columns, so queries have to be prepared again. */
export const isStale = (error: unknown): boolean =>
  isServerError(error) && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'

const untrusted = /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO_(GET|VERIFY)|ERR_INVALID_URL/
const permanentError = /SSL|SASL|client password/

/** Waiting does not help: a wrong user, password, database, or certificate, or a server that refuses this client. */
export function isLasting(error: unknown): boolean {
  if (isServerError(error)) return /^(28|3D|42501)/.test(error.code ?? '')
  if (!(error instanceof Error)) return false
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException
  return untrusted.test(code) || syscall === 'open' || permanentError.test(error.message)
}
