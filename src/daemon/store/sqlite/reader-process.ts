import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { EngineAdapter } from '../database.ts'
import type { Database } from '../schema.ts'
import { sqliteEngine } from './engine.ts'

// What takes long has a process of its own, with its own connection that only reads: SQLite works synchronously, and
// taps would wait for it here. A thread would do as well, but SQLite cannot be interrupted in one, and stopping the
// daemon would wait for it.

/** Runs in the process. It is plain JavaScript, handed over as text: in tests there is no bundle to start. */
const program = `
const { closeSync, openSync } = require('node:fs')
const { Worker } = require('node:worker_threads')
// A copy that is flushed at its end alone has the system write a gigabyte at once, and each tap's commit waits for it.
const flushing = (path) =>
  new Worker(
    \`
    const { closeSync, fdatasyncSync, openSync } = require('node:fs')
    const { parentPort, workerData } = require('node:worker_threads')
    const file = openSync(workerData, 'r+')
    const flush = () => {
      fdatasyncSync(file)
      timer = setTimeout(flush, 10)
    }
    let timer = setTimeout(flush, 10)
    parentPort.once('message', () => {
      clearTimeout(timer)
      closeSync(file)
    })
    \`,
    { eval: true, workerData: path },
  )
let Database
let db
const jobs = {
  open: ({ file, driver }) => {
    Database = require(driver)
    db = new Database(file, { readonly: true })
    db.pragma('busy_timeout = 5000')
  },
  query: ({ sql, parameters }) => db.prepare(sql).all(parameters),
  check: () => db.prepare('PRAGMA quick_check(20)').pluck().all().map(String).join('; '),
  backup: async ({ path }) => {
    // SQLite keeps the mode of a file that is there.
    closeSync(openSync(path, 'wx', 0o600))
    // All that is left in one step: a write in between two would begin the copy anew. Writers do not wait for it.
    const worker = flushing(path)
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    // The copy's own flush reports what this one could not do.
    worker.on('error', () => undefined)
    try {
      await db.backup(path, { progress: () => 0x7fffffff })
    } finally {
      worker.postMessage('end')
      await ended
    }
    const copy = new Database(path)
    try {
      // One file that is whole by itself, with no log beside it.
      copy.pragma('journal_mode = DELETE')
      if (copy.prepare('SELECT 1 FROM sqlite_schema').get() === undefined)
        throw new Error('The copy of the database is empty')
    } finally {
      copy.close()
    }
  },
}
process.on('message', async ({ id, kind, ...job }) => {
  try {
    process.send({ id, value: await jobs[kind](job) })
  } catch (error) {
    process.send({ id, error: { message: error.message, code: error.code } })
  }
})
`

type Job =
  | { kind: 'open'; file: string; driver: string }
  | { kind: 'query'; sql: string; parameters: readonly unknown[] }
  | { kind: 'check' }
  | { kind: 'backup'; path: string }

type Reply = { id: number } & ({ value: unknown } | { error: { message: string; code?: string } })

/** A failure in the process, with SQLite's code or the system's. */
class ReaderFailure extends Error {
  override readonly name = 'SqliteError'
  readonly code: string | undefined
  constructor({ message, code }: { message: string; code?: string }) {
    super(message)
    this.code = code
  }
}

const ended = () => new Error('The process that reads the database has ended')

/** A process that reads a database, begun with its first job. */
export class ReaderProcess {
  readonly #file: string
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  #child: ChildProcess | undefined
  #last = 0
  #isClosed = false

  constructor(file: string) {
    this.#file = file
  }

  run(job: Job): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(ended())
    if (!this.#child) {
      this.#child = this.#begin()
      const driver = createRequire(import.meta.url).resolve('better-sqlite3')
      // If that fails, so does the job after it, with the reason.
      this.#send(this.#child, { kind: 'open', file: this.#file, driver }).catch(() => undefined)
    }
    return this.#send(this.#child, job)
  }

  #send(child: ChildProcess, job: Job): Promise<unknown> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      child.ref()
      child.channel?.ref()
      // It may have ended this moment: then its end tells whoever waits.
      child.send({ id, ...job }, () => undefined)
    })
  }

  /** Gives up what is still running. */
  async close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  #begin(): ChildProcess {
    const child = spawn(process.execPath, ['-e', program], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
      // None of the daemon's environment: it may hold keys.
      env: {},
    })
    child.on('message', (reply: Reply) => {
      const job = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      // It keeps nothing running that has nothing else to do.
      if (this.#waiting.size === 0) {
        child.unref()
        child.channel?.unref()
      }
      if ('error' in reply) job?.reject(new ReaderFailure(reply.error))
      else job?.resolve(reply.value)
    })
    const end = (error: unknown) => {
      if (this.#child === child) this.#child = undefined
      for (const job of this.#waiting.values()) job.reject(error)
      this.#waiting.clear()
    }
    child.once('error', end)
    child.once('exit', () => end(ended()))
    return child
  }
}

/** Queries that such a process runs: they may take long. */
export const kyselyOver = (reader: ReaderProcess): Kysely<Database> =>
  new Kysely<Database>({
    dialect: {
      createDriver: () => new ReaderDriver(reader),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createAdapter: () => new ReaderAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
  })

class ReaderAdapter extends SqliteAdapter implements EngineAdapter {
  readonly engine = sqliteEngine
}

class ReaderDriver implements Driver {
  readonly #connection: DatabaseConnection
  constructor(reader: ReaderProcess) {
    this.#connection = {
      async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
        return { rows: (await reader.run({ kind: 'query', sql, parameters })) as R[] }
      },
      streamQuery() {
        throw new Error('What is streamed is read in pages')
      },
    }
  }
  async init() {}
  async acquireConnection() {
    return this.#connection
  }
  async beginTransaction() {
    throw new Error('This connection only reads')
  }
  async commitTransaction() {}
  async rollbackTransaction() {}
  async releaseConnection() {}
  async destroy() {}
}
