import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseFile } from '../../src/daemon/store/data-dir/data-dir.ts'
import { dataKeyFile } from '../../src/daemon/store/data-dir/data-key.ts'
import { migrate } from '../../src/daemon/store/database/open.ts'
import { lockFile } from '../../src/values/local-daemon.ts'

// Migrating a database and looking for its other owners takes a third of a daemon's start, and tests start thousands.

let migrated: Promise<Buffer> | undefined

async function migrateOnce(): Promise<Buffer> {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-empty-'))
  try {
    const file = join(dir, databaseFile)
    await migrate(file)
    return readFileSync(file)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Writes a database with the latest schema and no rows into a directory. */
export async function writeEmptyDatabase(dataDir: string): Promise<void> {
  migrated ??= migrateOnce()
  writeFileSync(join(dataDir, databaseFile), await migrated)
}

/** Makes a fresh directory what a first start leaves before it writes a row. */
export async function writeEmptyDataDir(dataDir: string): Promise<void> {
  await writeEmptyDatabase(dataDir)
  writeFileSync(join(dataDir, dataKeyFile), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  writeFileSync(join(dataDir, lockFile), '')
}
