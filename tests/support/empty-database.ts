import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { auditSeal, reseal, sealAuditWith } from '../../src/daemon/store/audit/audit-head.ts'
import { databaseFile } from '../../src/daemon/store/data-dir/data-dir.ts'
import { dataKeyFile } from '../../src/daemon/store/data-dir/data-key.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { migrate } from '../../src/daemon/store/database/open.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
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
  const key = randomBytes(32)
  writeFileSync(join(dataDir, dataKeyFile), `${key.toString('hex')}\n`, { mode: 0o600 })
  writeFileSync(join(dataDir, lockFile), '')
  const { kysely } = openSqlite(join(dataDir, databaseFile), { readonly: false })
  sealAuditWith(kysely, auditSeal(new SecretBox(key)))
  await reseal(kysely, new Date().toISOString())
  await kysely.destroy()
}
