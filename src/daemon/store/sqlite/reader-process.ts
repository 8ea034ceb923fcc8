import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
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
import type { EngineAdapter } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'
import type { Job, Order, Reply } from './database-reader.ts'
import { sqliteEngine } from './engine.ts'
import { programFile } from './program-file.ts'

// SQLite is synchronous and would block taps. In a thread it could not be interrupted on shutdown.

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
    this.#child ??= this.#begin()
    return this.#send(this.#child, job)
  }

  #send(child: ChildProcess, job: Job): Promise<unknown> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      child.ref()
      child.channel?.ref()
      // If the process has ended, its exit event rejects the job.
      child.send({ id, file: this.#file, job } satisfies Order, () => undefined)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    // A process that only restores a backup has nothing else to keep it alive.
    child.ref()
    const gone = once(child, 'exit')
    // Otherwise our own process may end here, if nothing else keeps it running.
    child.ref()
    child.kill('SIGKILL')
    await gone
  }

  #begin(): ChildProcess {
    const child = fork(programFile('database-reader'), [], {
      execArgv: [],
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
