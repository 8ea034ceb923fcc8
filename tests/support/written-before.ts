import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openTestApp } from './daemon.ts'
import { databaseOf, dropDatabaseOf, onServer } from './postgres.ts'
import { versionBefore } from './schemas.ts'

/**
 * Lets a daemon of the version before a migration write to a new database.
 * @returns what a daemon of this version is opened with
 */
export async function writtenBefore(
  migration: string,
  write: (ctx: Awaited<ReturnType<typeof openTestApp>>['ctx']) => Promise<unknown>,
): Promise<{ dataDir: string; env: Record<string, string> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-version-before-'))
  onTestFinished(async () => {
    await dropDatabaseOf(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
  })
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url !== undefined) {
    // Tests begin with a migrated database.
    const name = new URL(url).pathname.slice(1)
    await onServer((client) => client.query(`drop database ${name}`))
    await onServer((client) => client.query(`create database ${name}`))
  }
  const opened = { dataDir, env: { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) } }
  const upgrade = versionBefore(migration)
  try {
    const { ctx, close } = await openTestApp(opened)
    await write(ctx)
    await close()
  } finally {
    upgrade()
  }
  return opened
}
