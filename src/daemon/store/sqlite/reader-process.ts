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

// SQLite is synchronous and would block taps. In a thread it could not be interrupted on shutdown.

/** Passed as text to the process, because there is no bundle in tests. */
const program = `
const { hash } = require('node:crypto')
const { closeSync, openSync } = require('node:fs')
const { Worker } = require('node:worker_threads')
// A single flush at the end would write a gigabyte at once and delay the commits of taps.
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
    // Statistics look up chips all over the file: pages that the system has cached are not copied.
    db.pragma('mmap_size = 1073741824')
    // As in engine.ts.
    db.function('revision', { deterministic: true }, (values) => 'r' + hash('sha256', values, 'hex').slice(0, 12))
  },
  query: ({ sql, parameters }) => db.prepare(sql).all(parameters),
  check: () => db.prepare('PRAGMA quick_check(20)').pluck().all().map(String).join('; '),
  backup: async ({ path }) => {
    // SQLite keeps the mode of an existing file.
    closeSync(openSync(path, 'wx', 0o600))
    // Copies all pages in one step, because a write between steps would restart the copy. Writers do not wait.
    const worker = flushing(path)
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    // The final flush of the copy reports any error.
    worker.on('error', () => undefined)
    try {
      await db.backup(path, { progress: () => 0x7fffffff })
    } finally {
      worker.postMessage('end')
      await ended
    }
    const copy = new Database(path)
    try {
      // Makes the copy a single file without a log.
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

/** `code` is from SQLite or the system. */
class ReaderFailure extends Error {
  override readonly name = 'SqliteError'
  readonly code: string | undefined
  constructor({ message, code }: { message: string; code?: string }) {
    super(message)
    this.code = code
  }
}

const ended = () => new Error('The process that reads the database has ended')

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
      // If this fails, the next job fails with the reason.
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
      // If the process has ended, its exit event rejects the job.
      child.send({ id, ...job }, () => undefined)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    // Nothing else may keep a process alive that only restores a backup.
    child.ref()
    const gone = once(child, 'exit')
    // Otherwise our own process may end here, if nothing else keeps it running.
    child.ref()
    child.kill('SIGKILL')
    await gone
  }

  #begin(): ChildProcess {
    const child = spawn(process.execPath, ['-e', program], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
      // The environment of the daemon may contain keys.
      env: {},
    })
    child.on('message', (reply: Reply) => {
      const job = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      // An idle process must not keep the daemon running.
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

/** Into a new file with owner-only access. The database may be in use. */
export async function copyDatabase(file: string, to: string): Promise<void> {
  const reader = new ReaderProcess(file)
  try {
    await reader.run({ kind: 'backup', path: to })
  } finally {
    await reader.close()
  }
}

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
