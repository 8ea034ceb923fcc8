import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTestApp } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, onServer } from '../support/postgres.ts'
import { withoutMigration } from '../support/schemas.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-own-contracts-'))
})
afterEach(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await dropDatabaseOf(dataDir)
})

const env = { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) }

test('a contract registered by the version before still moves its tokens by signed claims', async () => {
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url !== undefined) {
    // Tests begin with a migrated database.
    const name = new URL(url).pathname.slice(1)
    await onServer((client) => client.query(`drop database ${name}`))
    await onServer((client) => client.query(`create database ${name}`))
  }
  const restore = ['0027-relayers-and-contracts', '0028-credentials'].map(withoutMigration)
  const before = await openTestApp({ dataDir, env })
  const [at, address] = ['2026-06-01T12:00:00.000Z', '0x5FbDB2315678afecb367f032d93F642f64180aa3']
  await before.ctx.db.write(async (trx) => {
    await sql`insert into teams (name, "createdAt") values ('Acme', ${at})`.execute(trx)
    await sql`insert into contracts ("teamId", kind, symbol, name, "chainId", address, status, "createdAt")
      select id, 'phygital', 'OLD', 'Old', 1, ${address}, 'confirmed', ${at} from teams`.execute(trx)
  })
  await before.close()
  for (const give of restore) give()

  const { app, admin, close } = await openTestApp({ dataDir, env })
  const shown = await app.inject({ url: '/admin/contracts?team=Acme', headers: admin })
  expect(shown.json()).toMatchObject([{ symbol: 'OLD', address, transfer: null, mint: null }])
  await close()
})
