import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type SuiteAPI, describe as suite, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { migrate, openDatabase, openPostgres } from '../../src/daemon/store/database/open.ts'
import { writeEmptyDatabase } from './empty-database.ts'
import { databaseOf, isPostgres } from './postgres.ts'

const noTest = Object.assign(() => undefined, { each: () => () => undefined })

/** A test of what a database in a file alone has: its damage, copies, plans, and older forms. Not on PostgreSQL. */
export const testOfFile = isPostgres ? (noTest as unknown as typeof test) : test
export const describeOfFile = isPostgres ? (noTest as unknown as SuiteAPI) : suite

/** The store of a data directory, on the engine that the tests run on. */
export async function openTestStore(dataDir: string): Promise<Db> {
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url !== undefined) return openPostgres(url)
  const file = join(dataDir, 'tapchip.db')
  mkdirSync(dataDir, { recursive: true })
  if (existsSync(file)) await migrate(file)
  else await writeEmptyDatabase(dataDir)
  return openDatabase(file)
}

/** As if nobody had renewed a lease for so long. */
export const ageLeases = (db: Db, ms: number) =>
  db.write((trx) =>
    trx
      .updateTable('leases')
      .set((e) => ({ expiresAt: e('expiresAt', '-', ms) }))
      .execute(),
  )
