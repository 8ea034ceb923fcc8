import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { digestOf, manifestText } from '../../src/daemon/domain/backup/backup-manifest.ts'
import { restoreBackup } from '../../src/daemon/domain/backup/restore.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { databaseOf, dropDatabaseOf, onServer } from '../support/postgres.ts'
import { run } from '../support/process.ts'
import { asOfBefore, refusedAsOfBefore } from '../support/schemas.ts'
import { seed } from '../support/seeds.ts'

const dir = mkdtempSync(join(tmpdir(), 'tapchip-before-'))
const dataDir = join(dir, 'data')
const file = join(dataDir, 'tapchip.db')
let url: string | undefined
let backup: string

beforeAll(async () => {
  mkdirSync(dataDir)
  const { app, admin, close } = await openTestApp({ dataDir, seed })
  const made = await app.inject({ method: 'POST', url: '/admin/backup', headers: admin, payload: {} })
  if (made.statusCode === 200) backup = made.json().path
  await close()
  url = (await databaseOf(dataDir)).TAPCHIP_DATABASE_URL
  if (url === undefined) edit(file)
  else await onServer((client) => client.query(asOfBefore), new URL(url).pathname.slice(1))
})
afterAll(async () => {
  await dropDatabaseOf(dataDir)
  rmSync(dir, { recursive: true, force: true })
})

function edit(path: string): void {
  const db = new BetterSqlite3(path)
  db.exec(asOfBefore)
  db.close()
}

/** Everything that a start could change. */
async function state(): Promise<unknown> {
  const files = readdirSync(dataDir).filter((name) => name !== 'daemon.lock')
  if (url === undefined) return [files, readFileSync(file).toString('base64')]
  const tables = `select relname, reltuples from pg_class where relnamespace = 'public'::regnamespace order by relname`
  const rows = `select (select json_agg(m order by name) from kysely_migration m) as applied, (select count(*) from audit) as audit`
  return onServer(
    async (client) => [files, (await client.query(tables)).rowCount, (await client.query(rows)).rows],
    new URL(url).pathname.slice(1),
  )
}

test('a daemon refuses a database from before the first schema, says what to do, and changes nothing', async () => {
  const before = await state()
  const env = { TAPCHIP_DEV_CHAIN: 'off', ...(await databaseOf(dataDir)) }
  const ended = await run('tapchipd', ['--data-dir', dataDir, '--port', '0'], env)
  expect([ended.code, ended.stdout]).toEqual([1, ''])
  expect(ended.stderr).toMatch(refusedAsOfBefore)
  expect(ended.stderr).toContain(url === undefined ? `The database ${file} ` : 'The database postgres://')
  expect(ended.stderr).toContain('Start that version on it again')
  expect(ended.stderr).not.toContain('    at ')
  expect(await state()).toEqual(before)
})

testOfFile('so does a restore refuse a backup of it', async () => {
  const key = readFileSync(join(dataDir, 'data.key'), 'utf8').trim()
  edit(join(backup, 'tapchip.db'))
  const digest = await digestOf(join(backup, 'tapchip.db'))
  const manifest = manifestText(new SecretBox(Buffer.from(key, 'hex')), {
    madeAt: '2026-01-01T00:00:00.000Z',
    schema: '0024-nodes',
    auditHead: null,
    files: { 'tapchip.db': digest },
  })
  writeFileSync(join(backup, 'backup.json'), manifest)
  const into = join(dir, 'new')
  const restored = restoreBackup(testClock(), {
    from: backup,
    dataDir: into,
    passphrase: undefined,
    dataKey: key,
  })
  const error = await restored.catch((problem: unknown) => problem)
  expect(error).toMatchObject({
    name: 'RestoreProblem',
    message: expect.stringMatching(refusedAsOfBefore),
  })
  expect(error).toMatchObject({
    message: expect.stringContaining('Restore it with that version, and start'),
  })
  expect(existsSync(into)).toBe(false)
})
