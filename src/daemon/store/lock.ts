import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'

export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
}

/**
 * Holds a data directory for this process alone. The lock is SQLite's own on an empty file, so the system frees
 * it with the process, also after kill -9: there is no stale lock to clean up.
 * @returns a function that lets go
 */
export function lockDataDir(dataDir: string): () => void {
  const lock = new BetterSqlite3(join(dataDir, 'daemon.lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch {
    lock.close()
    throw new DataDirInUse(
      `Another tapchipd uses ${dataDir}. Stop it first, or give this one another --data-dir.`,
    )
  }
  return () => {
    if (lock.open) lock.close()
  }
}
