import type { Client, QueryResult } from 'pg'

export interface Query {
  text: string
  values?: unknown[]
  name?: string
  /** Shorter than the default, in milliseconds. */
  query_timeout?: number
}

interface QueryLimits {
  /** Deadline of one query. */
  readonly queryMs: number
  /** From one answer, or the request for a connection, to the next answer. */
  readonly patienceMs: number
  readonly since: number
  /** @param error the last query's error */
  readonly released: (error: unknown) => void
}

/** A connection for one piece of work, which has to release it. */
export class PooledConnection {
  readonly #client: Client
  readonly #terms: QueryLimits
  #until: number

  constructor(client: Client, terms: QueryLimits) {
    this.#client = client
    this.#terms = terms
    this.#until = terms.since + terms.patienceMs
  }

  /** @throws DatabaseError, errors of the network */
  async query(query: Query): Promise<QueryResult> {
    const { queryMs, patienceMs } = this.#terms
    const leftMs = Math.max(1, this.#until - performance.now())
    const bounded = { ...query, query_timeout: Math.min(query.query_timeout ?? queryMs, leftMs) }
    const result = await this.#client.query(bounded)
    this.#until = performance.now() + patienceMs
    return result
  }

  /** @param error the last query's error; after it, an unreliable connection is not reused */
  release(error?: unknown): void {
    this.#terms.released(error)
  }
}
