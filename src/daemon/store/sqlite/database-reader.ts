import { closeSync, openSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import { programFile } from './program-file.ts'
import { revisionOf } from './revision-of.ts'

// The program of `ReaderProcess`.

export type Job =
  | { kind: 'query'; sql: string; parameters: readonly unknown[] }
  | { kind: 'check' }
  | { kind: 'backup'; path: string }

/** @param file the database, the same in all orders */
export type Order = { id: number; file: string; job: Job }

export type Reply = { id: number } & ({ value: unknown } | { error: { message: string; code?: string } })

let opened: BetterSqlite3.Database | undefined

function open(file: string): BetterSqlite3.Database {
  const db = new BetterSqlite3(file, { readonly: true })
  db.pragma('busy_timeout = 5000')
  // Statistics look up chips all over the file: pages that the system has cached are not copied.
  db.pragma('mmap_size = 1073741824')
  db.function('revision', { deterministic: true }, revisionOf)
  return db
}

function run(db: BetterSqlite3.Database, job: Job): unknown {
  switch (job.kind) {
    case 'query':
      return db.prepare(job.sql).all(job.parameters)
    case 'check':
      return db.prepare('PRAGMA quick_check(20)').pluck().all().map(String).join('; ')
    case 'backup':
      return backUp(db, job.path)
  }
}

async function backUp(db: BetterSqlite3.Database, path: string): Promise<void> {
  // SQLite keeps the mode of an existing file.
  closeSync(openSync(path, 'wx', 0o600))
  const flushing = new Worker(programFile('flush-thread'), { workerData: path })
  const ended = new Promise((resolve) => flushing.once('exit', resolve))
  // The final flush of the copy reports any error.
  flushing.on('error', () => undefined)
  try {
    // Copies all pages in one step, because a write between steps would restart the copy. Writers do not wait.
    await db.backup(path, { progress: () => 0x7fffffff })
  } finally {
    flushing.postMessage('end')
    await ended
  }
  const copy = new BetterSqlite3(path)
  try {
    // Makes the copy a single file without a log.
    copy.pragma('journal_mode = DELETE')
    if (copy.prepare('SELECT 1 FROM sqlite_schema').get() === undefined)
      throw new Error('The copy of the database is empty')
  } finally {
    copy.close()
  }
}

function failureOf(error: unknown): { message: string; code?: string } {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof Error && 'code' in error ? { message, code: String(error.code) } : { message }
}

const reply = (answer: Reply): void => void process.send?.(answer)

process.on('message', async ({ id, file, job }: Order) => {
  try {
    opened ??= open(file)
    reply({ id, value: await run(opened, job) })
  } catch (error) {
    reply({ id, error: failureOf(error) })
  }
})
