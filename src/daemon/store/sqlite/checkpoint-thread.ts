import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'

// Copies the write-ahead log into the database: see `Checkpoints`.

export type Order = 'pass' | 'end'

const db = new BetterSqlite3(workerData as string, { fileMustExist: true })
const pass = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
parentPort?.on('message', (order: Order) => {
  if (order === 'end') {
    db.close()
    parentPort?.close()
    return
  }
  try {
    pass.all()
  } catch {
    // The next pass begins where this one did.
  }
  parentPort?.postMessage('done')
})
