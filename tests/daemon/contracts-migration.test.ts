import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { openTestApp } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, onServer } from '../support/postgres.ts'
import { withoutMigration } from '../support/schemas.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-contracts-'))
})
afterEach(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await dropDatabaseOf(dataDir)
})
const env = { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) }

test('contracts of the version before show no looks and no royalty, and can be given looks', async () => {
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url !== undefined) {
    // Tests begin with a migrated database.
    const name = new URL(url).pathname.slice(1)
    await onServer((client) => client.query(`drop database ${name}`))
    await onServer((client) => client.query(`create database ${name}`))
  }
  const restore = ['0027-relayers-and-contracts', '0028-credentials'].map(withoutMigration)
  const before = await openTestApp({ dataDir, env })
  const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  const at = '2026-06-01T12:00:00.000Z'
  await before.ctx.db.write(async (trx) => {
    await sql`insert into teams (name, "createdAt") values ('Acme', ${at})`.execute(trx)
    await sql`insert into contracts ("teamId", kind, symbol, name, "chainId", address, status, "createdAt")
      select id, 'phygital', 'JKT', 'Jackets', 5, ${address}, 'confirmed', ${at} from teams`.execute(trx)
  })
  await before.close()
  for (const bring of restore) bring()

  const t = await openAdminApp({ dataDir, env })
  const [contract] = (await t.call('GET /admin/contracts')).body
  const none = { description: null, image: null, banner: null, externalLink: null, royalty: null }
  expect(contract).toMatchObject({ symbol: 'JKT', address, ...none, features: null })
  const edited = await t.call(`PATCH /admin/contracts/${contract.id}`, { description: 'Jackets with a chip' })
  expect(edited).toMatchObject({ status: 200, body: { ...none, description: 'Jackets with a chip' } })
  await t.close()
})
