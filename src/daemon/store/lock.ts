import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer } from 'node:net'
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
export async function lockDataDir(dataDir: string): Promise<() => void> {
  const lock = new BetterSqlite3(join(dataDir, 'daemon.lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'code' in error && !String(error.code).startsWith('SQLITE_BUSY'))
      throw error
    throw inUse(dataDir)
  }
  try {
    const release = await takeName(dataDir)
    return () => {
      release()
      if (lock.open) lock.close()
    }
  } catch (error) {
    lock.close()
    throw error
  }
}

const inUse = (dataDir: string) =>
  new DataDirInUse(`Another tapchipd uses ${dataDir}. Stop it first, or give this one another --data-dir.`)

/**
 * Whoever removes the lock's file lets a second daemon lock a new one. On Linux the directory itself is held as well,
 * by a name that stands in no file: an abstract socket (unix(7)), which goes with the process too.
 */
async function takeName(dataDir: string): Promise<() => void> {
  if (process.platform !== 'linux') return () => undefined
  const { dev, ino } = statSync(dataDir)
  const server = createServer((socket) => socket.destroy()).unref()
  try {
    server.listen({ path: `\0tapchip-data-dir-${dev}-${ino}` })
    await once(server, 'listening')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') throw inUse(dataDir)
    throw error
  }
  return () => void server.close()
}
