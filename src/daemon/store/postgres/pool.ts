import type { Client as AnyClient, ClientConfig, PoolClient, PoolConfig, QueryResult } from 'pg'
import { DatabaseUnavailable } from '../database.ts'
import { driver } from './driver.ts'
import type { Primary } from './primary.ts'
import {
  asUnavailable,
  common,
  isFull,
  isReadOnlyQuery,
  isStale,
  isUnprepared,
  mayBeDone,
} from './servers.ts'

/** More than wait in any proper moment, and less than would fill the memory. */
const mostWaiting = 1000

interface PoolSize {
  /** Most connections. */
  readonly max: number
  /** Deadline of one query, in milliseconds. */
  readonly queryMs: number
}

export interface Connections {
  /** @throws DatabaseUnavailable; `isRefused` if too many wait already */
  connect(): Promise<PoolClient>
  /** Breaks off everything that waits for an answer. */
  cut(): void
  counts(): { total: number; idle: number; waiting: number; max: number }
  close(): Promise<void>
}

/** Connections to the server that accepts writes, opened when they are needed. */
export function openPool(primary: Primary, { max, queryMs }: PoolSize): Connections {
  const { Client, Pool } = driver()
  class PrimaryClient extends Client {
    constructor(config: ClientConfig) {
      super({ ...config, connectionString: primary.url })
    }
  }
  const pool = new Pool({
    ...common,
    Client: PrimaryClient as unknown as new () => AnyClient,
    max,
    query_timeout: queryMs,
    idleTimeoutMillis: 30_000,
    verify: (client: PoolClient, done: (error?: Error) => void) => {
      client.query(isReadOnlyQuery).then(
        ({ rows }) => {
          const isPrimary = rows[0]?.transaction_read_only === 'off'
          done(isPrimary ? undefined : new Error('The server accepts no writes'))
        },
        (error: Error) => done(error),
      )
    },
  } as PoolConfig)
  const open = new Set<PoolClient>()
  // A connection that ends while it is idle is replaced when the next one is needed; the queries of others tell.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    open.add(client)
  })
  pool.on('remove', (client) => open.delete(client))
  let waiting = 0
  return {
    connect: async () => {
      if (waiting >= mostWaiting)
        throw new DatabaseUnavailable(new Error('Too many wait for the database'), { isRefused: true })
      waiting += 1
      let { url } = primary
      try {
        // One that is open says for itself whether it still works.
        if (pool.idleCount === 0) await primary.known()
        url = primary.url
        return await pool.connect()
      } catch (error) {
        if (!isExhausted(error) && !isFull(error)) primary.lost(url)
        throw error instanceof DatabaseUnavailable ? error : new DatabaseUnavailable(error)
      } finally {
        waiting -= 1
      }
    },
    cut: () => {
      for (const client of open) breakOff(client)
    },
    counts: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting, max }),
    close: () => pool.end(),
  }
}

/** All connections are in use, which says nothing about the server. */
const isExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect'

/** Ends a connection without a word, because the server may not listen. */
function breakOff(client: PoolClient): void {
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } }
  connection?.stream?.destroy()
}

/** Gives a connection back after an error; one that cannot be relied on is not used again. */
export function giveBack(client: PoolClient, error: unknown): void {
  const isLost = error instanceof DatabaseUnavailable
  if (isLost) breakOff(client)
  client.release(isLost || isStale(error) || isUnprepared(error))
}

/** Runs one query on some connection. @throws DatabaseUnavailable, DatabaseError */
export type Run = (query: { text: string; values: unknown[]; name?: string }) => Promise<Answer>

export interface Answer {
  rows: unknown[]
  rowCount: number | null
}

/** One query on a connection of its own. @throws DatabaseUnavailable, DatabaseError */
export const queryOn =
  (pool: Connections): Run =>
  async (query) => {
    const client = await pool.connect()
    try {
      const answer: QueryResult = await client.query(query)
      client.release()
      return answer
    } catch (thrown) {
      const error = asUnavailable(thrown)
      giveBack(client, error)
      // Without a transaction around it, a query that writes may have been done when its answer is lost.
      throw mayBeDone(thrown) && isWriting(query.text)
        ? new DatabaseUnavailable(thrown, { isOutcomeUnknown: true })
        : error
    }
  }

/** Anything but a plain question counts as one. */
export const isWriting = (text: string): boolean =>
  !/^\s*(select|show|with)\b/i.test(text) ||
  (/^\s*with\b/i.test(text) && /\b(insert|update|delete|merge)\b/i.test(text))
