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
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-relayers-'))
})
afterEach(async () => {
  await dropDatabaseOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})
const env = { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) }

test('transactions of the version before keep their relayer, and it writes more of them beside', async () => {
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url !== undefined) {
    // Tests begin with a migrated database.
    const name = new URL(url).pathname.slice(1)
    await onServer((client) => client.query(`drop database ${name}`))
    await onServer((client) => client.query(`create database ${name}`))
  }
  const restored = ['0027-relayers-and-contracts', '0028-credentials'].map(withoutMigration)
  const before = await openTestApp({ dataDir, env })
  const record = ({ ctx }: typeof before) =>
    ctx.db.write((trx) =>
      sql`insert into transactions ("chainId", signer, kind, subject, "createdAt", "updatedAt", state, signings)
        values (7, 'relayer', 'tally', '{}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'queued', 0)`.execute(
        trx,
      ),
    )
  await record(before)
  await before.ctx.db.write((trx) =>
    sql`insert into senders ("chainId", address, "nextNonce") values (7, '0x01', 5)`.execute(trx),
  )
  await before.close()
  for (const restore of restored) restore()
  const after = await openTestApp({ dataDir, env })
  await record(after)
  const rows = await after.ctx.db.read
    .selectFrom('transactions')
    .select(['signer', 'candidates', 'sequence'])
    .execute()
  expect(rows).toEqual(Array(2).fill({ signer: 'relayer', candidates: null, sequence: null }))
  expect(await after.ctx.db.read.selectFrom('senders').select(['nextNonce', 'jam']).execute()).toEqual([
    { nextNonce: 5, jam: null },
  ])
  await after.close()
})
