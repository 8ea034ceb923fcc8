import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { revisionOf } from './revision-of.ts'

// The program of `ReaderProcess`.

export type Job =
  | { kind: 'query'; sql: string; parameters: readonly unknown[] }
  | { kind: 'check' }
  | { kind: 'backup'; path: string }

/** @param file the database, the same in all requests */
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

/** A flush at the end alone would write a gigabyte at once and delay the commits of taps. */
const pagesBetweenFlushes = 2000

async function backUp(db: BetterSqlite3.Database, path: string): Promise<void> {
  // SQLite keeps the mode of an existing file.
  const made = openSync(path, 'wx', 0o600)
  // Without a transaction around all steps, a write between two of them would restart the copy.
  db.exec('BEGIN')
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get()
    await db.backup(path, {
      progress: () => {
        fdatasyncSync(made)
        return pagesBetweenFlushes
      },
    })
  } finally {
    if (db.inTransaction) db.exec('COMMIT')
    closeSync(made)
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

async function answer({ id, file, job }: Order): Promise<void> {
  try {
    opened ??= open(file)
    reply({ id, value: await run(opened, job) })
  } catch (error) {
    reply({ id, error: failureOf(error) })
  }
}

// One at a time, because a backup is a transaction of many steps.
let last = Promise.resolve()
process.on('message', (order: Order) => {
  last = last.then(() => answer(order))
})
