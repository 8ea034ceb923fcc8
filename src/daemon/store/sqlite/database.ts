import { statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Db, Queries, WriteJob } from '../database/database.ts'
import { takeTapIn } from '../taps/take-tap.ts'
import { Checkpoints } from './checkpoints.ts'
import { type Connection, type Opened, openSqlite, type ReadTurn, readsBeside } from './connection.ts'
import { kyselyOver, ReaderProcess } from './reader-process.ts'

/** @param file must be migrated @param failed receives errors of failed writes */
export function openDatabase(
  file: string,
  failed: (error: unknown, writes: number) => void = () => undefined,
): Db {
  const writer = openSqlite(file, { readonly: false })
  const reader = openSqlite(file, { readonly: true })
  const checkpoints = new Checkpoints(file, writer.connection)
  const group = new WriteGroup(writer, { reads: reader.readTurn, checkpoints, failed })
  // Separate processes, so that lists do not wait for a check of the whole database.
  const [queries, maintenance] = [new ReaderProcess(file), new ReaderProcess(file)]
  return {
    read: readsBeside(writer, reader),
    slow: kyselyOver(queries),
    write: (job) => group.add(job),
    takeTap: (tap) => group.addTap((trx) => takeTapIn(trx, tap)),
    maintenance: {
      sizeBytes: async () =>
        [file, `${file}-wal`].reduce(
          (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
          0,
        ),
      quickCheck: async () => String(await maintenance.run({ kind: 'check' })),
      backupTo: async (path) => {
        await maintenance.run({ kind: 'backup', path })
      },
    },
    async close() {
      await group.drained()
      await Promise.all([queries.close(), maintenance.close(), checkpoints.close()])
      // Kysely closes a connection only after a query, and an open read would block the checkpoint.
      reader.readTurn.end()
      writer.readTurn.end()
      await reader.kysely.destroy()
      reader.connection.close()
      // Also shortens the write-ahead log to nothing.
      writer.connection.pragma('wal_checkpoint(TRUNCATE)')
      await writer.kysely.destroy()
      writer.connection.close()
    },
  }
}

const lockedForMs = 5000
const lockedRetryMs = 10
/** The longest that a write waits for others to share its flush. */
const collectingMs = 5
/** Jobs that take longer, commit included, are not grouped with taps. */
const longMs = 3

const isLocked = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')

interface Queued {
  run(trx: Queries): Promise<void>
  /** Called after COMMIT or with the error. */
  settle(failure?: unknown): void
}

interface WriteHooks {
  reads: ReadTurn
  checkpoints: Checkpoints
  failed: (error: unknown, writes: number) => void
}

/** Writes that come together share a commit, because it flushes the disk. Savepoints isolate failures. */
class WriteGroup {
  readonly #connection: Connection
  readonly #trx: Queries
  readonly #readTurn: ReadTurn
  readonly #hooks: WriteHooks
  #jobs: Queued[] = []
  #taps: Queued[] = []
  #flushing: Promise<void> | undefined
  #jobsTookMs = 0
  #areJobsDue = false
  readonly #begin
  readonly #commit
  readonly #savepoint
  readonly #release
  readonly #rollbackTo

  constructor({ connection, kysely, readTurn }: Opened, hooks: WriteHooks) {
    this.#connection = connection
    this.#trx = kysely
    this.#readTurn = readTurn
    this.#hooks = hooks
    this.#begin = connection.prepare('BEGIN IMMEDIATE')
    this.#commit = connection.prepare('COMMIT')
    this.#savepoint = connection.prepare('SAVEPOINT job')
    this.#release = connection.prepare('RELEASE job')
    this.#rollbackTo = connection.prepare('ROLLBACK TO job')
  }

  add<T>(job: WriteJob<T>): Promise<T> {
    return this.#queued(this.#jobs, job)
  }

  /** Runs before the group's jobs, because a person is waiting with a phone. */
  addTap<T>(job: WriteJob<T>): Promise<T> {
    return this.#queued(this.#taps, job)
  }

  #queued<T>(queue: Queued[], job: WriteJob<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let outcome: { value: T } | { error: unknown } | undefined
      queue.push({
        run: async (trx) => {
          try {
            outcome = { value: await job(trx) }
          } catch (error) {
            outcome = { error }
            throw error
          }
        },
        settle: (failure) => {
          if (outcome && 'error' in outcome) reject(outcome.error)
          else if (outcome && failure === undefined) resolve(outcome.value)
          else reject(failure)
        },
      })
      this.#schedule()
    })
  }

  async drained(): Promise<void> {
    while (this.#flushing) await this.#flushing
  }

  get #waiting(): number {
    return this.#taps.length + this.#jobs.length
  }

  #schedule(): void {
    if (this.#flushing || this.#waiting === 0) return
    this.#flushing = new Promise((resolve) => {
      const flush = () => {
        this.#flush()
          .catch(() => undefined)
          .finally(() => {
            this.#flushing = undefined
            this.#schedule()
            resolve()
          })
      }
      const until = performance.now() + collectingMs
      // While each turn brings more, requests are still being parsed that can share the flush.
      const collect = (known: number) =>
        setImmediate(() => {
          const waiting = this.#waiting
          if (waiting === known || performance.now() >= until) flush()
          else collect(waiting)
        })
      collect(1)
    })
  }

  async #flush(): Promise<void> {
    const { reads, checkpoints, failed } = this.#hooks
    const { taps, jobs } = this.#nextGroup()
    let failure: unknown
    try {
      this.#readTurn.end()
      await checkpoints.between()
      // SQLite restarts its log only while nobody reads.
      reads.end()
      await this.#beginOnceFree()
      for (const tap of taps) await this.#run(tap)
      const begun = performance.now()
      for (const job of jobs) await this.#run(job)
      this.#commit.run()
      // Short jobs run between the pieces of a long edit.
      if (jobs.length > 0) this.#jobsTookMs = Math.max(performance.now() - begun, this.#jobsTookMs / 2)
      // Callers must be able to read what they wrote.
      reads.end()
    } catch (error) {
      // All writes of the group failed, for example on a full disk.
      failure = error ?? new Error('the transaction failed')
      failed(failure, taps.length + jobs.length)
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK')
    }
    for (const one of [...taps, ...jobs]) one.settle(failure)
  }

  /** Taps do not wait for long jobs, such as the pieces of a large edit, which in turn get every other group. */
  #nextGroup(): { taps: readonly Queued[]; jobs: readonly Queued[] } {
    const [taps, jobs] = [this.#taps, this.#jobs]
    this.#taps = []
    const hasBoth = taps.length > 0 && jobs.length > 0
    this.#areJobsDue = !this.#areJobsDue && hasBoth && this.#jobsTookMs > longMs
    if (this.#areJobsDue) return { taps, jobs: [] }
    this.#jobs = []
    return { taps, jobs }
  }

  /** Waits asynchronously for other writers, so that reads continue. @throws SqliteError after 5 seconds */
  async #beginOnceFree(): Promise<void> {
    const until = performance.now() + lockedForMs
    for (;;) {
      this.#readTurn.end()
      try {
        this.#begin.run()
        return
      } catch (error) {
        if (!isLocked(error) || performance.now() > until) throw error
        await delay(lockedRetryMs)
      }
    }
  }

  async #run(job: Queued): Promise<void> {
    this.#savepoint.run()
    try {
      await job.run(this.#trx)
    } catch (error) {
      // If SQLite rolled back the whole transaction, the group has failed.
      if (!this.#connection.inTransaction) throw error
      this.#hooks.failed(error, 1)
      this.#rollbackTo.run()
    }
    this.#release.run()
  }
}
