import { DatabaseUnavailable } from '../database/database.ts'
import type { Kind } from './kinds.ts'
import type { Pool } from './pool.ts'
import type { Query } from './pooled-connection.ts'
import { asUnavailable, mayBeDone } from './servers.ts'

/** Runs one query on any connection. @throws DatabaseUnavailable, DatabaseError */
export type Run = (query: Query & { values: unknown[] }, leftMs?: number) => Promise<Answer>

export interface Answer {
  rows: unknown[]
  rowCount: number | null
}

/** Runs one query on its own connection. @throws DatabaseUnavailable, DatabaseError */
export const queryOn =
  (pool: Pool, kind: Kind): Run =>
  async (query, leftMs) => {
    const connection = await pool.connect(kind, leftMs)
    try {
      const answer = await connection.query(query)
      connection.release()
      return answer
    } catch (thrown) {
      const error = asUnavailable(thrown)
      connection.release(error)
      // Without a transaction, a query that writes may have succeeded although its answer is lost.
      throw mayBeDone(thrown) && isWriting(query.text)
        ? new DatabaseUnavailable(thrown, { isOutcomeUnknown: true })
        : error
    }
  }

/** Everything except a plain SELECT counts as a write. */
export const isWriting = (text: string): boolean =>
  !/^\s*(select|show|with)\b/i.test(text) ||
  (/^\s*with\b/i.test(text) && /\b(insert|update|delete|merge)\b/i.test(text))
