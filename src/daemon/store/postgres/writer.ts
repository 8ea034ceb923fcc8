import { DatabaseUnavailable, type Queries, type WriteJob } from '../database/database.ts'
import { Groups } from '../database/groups.ts'
import type { TapInsert } from '../taps/tap-insert.ts'
import { type Adapter, kyselyBy } from './dialect.ts'
import type { Pool } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import { mayPass, tried } from './retry.ts'
import { asUnavailable, isConflict, isDuplicate, mayBeDone } from './servers.ts'
import { isWriting, queryOn, type Run } from './single-query.ts'
import { takeOn } from './take-tap.ts'

// A stalled daemon must not hold rows that others wait for, and waiting for these must not block everything else.
const begin = `begin isolation level serializable; set local idle_in_transaction_session_timeout = '5s'; set local lock_timeout = '2s'`

/**
 * Serializable transactions: a job whose reads were changed by another one is run again, so that jobs may check
 * before they write, across daemons.
 */
export class Writer {
  readonly #pool: Pool
  readonly #adapter: Adapter
  /** Only compiles; executes nothing. */
  readonly #queries: Queries
  readonly #failed: (error: unknown, writes: number) => void
  /** Conflicting jobs wait for each other here, because they would conflict again. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #running = new Set<Promise<unknown>>()
  readonly #taps = new Groups((taps: TapInsert[]) => this.#takeTogether(taps), {
    concurrency: 3,
    maxPerGroup: 64,
    isWriting: true,
    keyOf: ({ seen }) => seen.uid,
  })

  constructor(pool: Pool, adapter: Adapter, failed: (error: unknown, writes: number) => void) {
    this.#pool = pool
    this.#adapter = adapter
    this.#queries = kyselyBy(queryOn(pool, 'tap'), adapter)
    this.#failed = failed
  }

  run<T>(job: WriteJob<T>): Promise<T> {
    return this.#settled((leftMs) => this.#once(job, leftMs))
  }

  /** @returns the ID of the tap; undefined: it was not taken */
  takeTap(tap: TapInsert): Promise<number | undefined> {
    return this.#settled(() => this.#taps.ask(tap))
  }

  /** A tap that its group did not take is tried alone, because someone else may only have held the chip's row. */
  async #takeTogether(taps: readonly TapInsert[]) {
    const isAlone = taps.length === 1
    const ids = await takeOn(this.#pool, this.#queries, taps, isAlone ? 'waits' : 'skips')
    return taps.map((tap) => ids.get(tap.seen.uid) ?? (isAlone ? undefined : this.#takeAlone(tap)))
  }

  async #takeAlone(tap: TapInsert): Promise<number | undefined> {
    return (await takeOn(this.#pool, this.#queries, [tap], 'waits')).get(tap.seen.uid)
  }

  #settled<T>(once: (leftMs: number) => Promise<T>): Promise<T> {
    const running = this.#untilDone(once)
    this.#running.add(running)
    const settled = () => this.#running.delete(running)
    running.then(settled, settled)
    return running
  }

  /** Resolves when all writes have ended. */
  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  async #untilDone<T>(once: (leftMs: number) => Promise<T>): Promise<T> {
    let last: unknown
    let duplicates = 0
    try {
      return await tried(
        (leftMs, until) => {
          if (!isConflict(last)) return once(leftMs)
          return this.#inTurn(() => {
            if (performance.now() > until) throw last
            return once(leftMs)
          })
        },
        (error) => {
          last = error
          if (isDuplicate(error)) duplicates += 1
          return mayPass(error) || (isDuplicate(error) && duplicates === 1)
        },
      )
    } catch (error) {
      this.#failed(error, 1)
      throw isConflict(error) ? new DatabaseUnavailable(error) : error
    }
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(run)
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #once<T>(job: WriteJob<T>, leftMs: number): Promise<T> {
    const connection = await this.#pool.connect('write', leftMs)
    const { run, begun, end } = inTransaction(connection)
    let isCommitting = false
    try {
      const value = await job(kyselyBy(run, this.#adapter))
      await begun
      end()
      isCommitting = true
      const { command } = await connection.query({ text: 'commit' })
      connection.release()
      if (command === 'COMMIT') return value
    } catch (thrown) {
      end()
      throw isCommitting ? uncommitted(connection, thrown) : await rolledBack(connection, thrown)
    }
    throw new Error('A query of a write failed, and the write went on: nothing of it was kept')
  }
}

/** The transaction of one run of a job, which ends with it. */
function inTransaction(connection: PooledConnection) {
  // Whatever the server reports, the job is not the cause.
  const begun = connection.query({ text: begin }).catch((error: unknown) => {
    throw new DatabaseUnavailable(error)
  })
  begun.catch(() => undefined)
  let isFirst = true
  let isDone = false
  const run: Run = async (query) => {
    // A SELECT can be sent together with BEGIN. A write cannot: it would be kept if BEGIN failed.
    const goesAlong = isFirst && !isWriting(query.text)
    isFirst = false
    if (!goesAlong) await begun
    // By now, the connection may have another job's transaction.
    if (isDone) throw new Error('A write has to await its queries: this one came after its end')
    return connection.query(query)
  }
  const end = () => {
    isDone = true
  }
  return { run, begun, end }
}

function uncommitted(connection: PooledConnection, thrown: unknown): unknown {
  const error = asUnavailable(thrown)
  connection.release(error)
  return mayBeDone(thrown) ? new DatabaseUnavailable(thrown, { isOutcomeUnknown: true }) : error
}

async function rolledBack(connection: PooledConnection, error: unknown): Promise<unknown> {
  // The server ends the transaction when its connection is gone.
  if (error instanceof DatabaseUnavailable) connection.release(error)
  else
    await connection.query({ text: 'rollback' }).then(
      () => connection.release(error),
      (lost: unknown) => connection.release(new DatabaseUnavailable(lost)),
    )
  return error
}
