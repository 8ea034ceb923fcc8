import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Migrator } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { auditSeal } from '../../src/daemon/store/audit-head.ts'
import { migrations } from '../../src/daemon/store/migrations/index.ts'
import { latestSchema } from '../../src/daemon/store/open.ts'
import { SecretBox } from '../../src/daemon/store/secret-box.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
import { NoRoomForCopy, upgradeDatabase } from '../../src/daemon/upgrade.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { run, spawnDaemon } from '../support/process.ts'

const dataKey = '0123456789abcdef'.repeat(4)
const env = { TAPCHIP_DATA_KEY: dataKey }

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-upgrade-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** A database as an earlier version left it, with a team. */
async function earlierDatabase(inDir = dir): Promise<string> {
  const file = join(inDir, 'tapchip.db')
  const { kysely } = openSqlite(file, { readonly: false })
  const { error } = await new Migrator({
    db: kysely,
    provider: { getMigrations: async () => migrations },
  }).migrateTo('0007-budgets')
  if (error) throw error
  await kysely.insertInto('teams').values({ name: 'Acme', createdAt: '2026-01-01T00:00:00.000Z' }).execute()
  await kysely.destroy()
  return file
}

const copies = (inDir = dir) => {
  const folder = join(inDir, 'backups')
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  const made = names.filter((name) => !name.endsWith('.db.json'))
  // Each has what proves that nobody has changed it, and nothing else is left.
  expect(names).toEqual(made.flatMap((name) => [name, `${name}.json`]))
  return made
}
const inCopy = (name: string, sql: string): unknown => {
  const copy = new BetterSqlite3(join(dir, 'backups', name), { readonly: true })
  try {
    return copy.prepare(sql).pluck().all()
  } finally {
    copy.close()
  }
}
const schemaOf = 'select max(name) from kysely_migration'

test('keys and tokens of an earlier version go on, and their hashes are not kept', async () => {
  const file = await earlierDatabase()
  const at = '2026-01-01T00:00:00.000Z'
  const [key, token] = ['svc_of-before-0123456789', 'adm_of-before-0123456789']
  const hashes = [key, token].map((secret) => createHash('sha256').update(secret).digest('hex'))
  const old = new BetterSqlite3(file)
  old
    .prepare('insert into apiKeys (teamId, name, hash, hint, scopes, createdAt) values (1, ?, ?, ?, ?, ?)')
    .run('ops', hashes[0], 'svc_…', '["all"]', at)
  old
    .prepare('insert into adminTokens (name, hash, scopes, createdAt) values (?, ?, ?, ?)')
    .run('desk', hashes[1], '["all"]', at)
  old.close()
  const { app, ctx, close } = await openTestApp({ dataDir: dir, env })
  const statusOf = async (url: string, headers: Record<string, string>) =>
    (await app.inject({ url, headers })).statusCode
  expect(await statusOf('/chip-groups', { 'x-svc-api-key': key })).toBe(200)
  expect(await statusOf('/admin/teams', { authorization: `Bearer ${token}` })).toBe(200)
  const rows = [
    await ctx.db.read.selectFrom('apiKeys').selectAll().execute(),
    await ctx.db.read.selectFrom('adminTokens').selectAll().execute(),
  ]
  for (const hash of hashes) expect(JSON.stringify(rows)).not.toContain(hash)
  await close()
  // A row of that form that is added later counts for nothing.
  const later = new BetterSqlite3(file)
  later
    .prepare('insert into adminTokens (name, hash, scopes, createdAt) values (?, ?, ?, ?)')
    .run('later', createHash('sha256').update('adm_added-by-hand-0123456789').digest('hex'), '["all"]', at)
  later.close()
  const again = await openTestApp({ dataDir: dir, env })
  const headers = { authorization: 'Bearer adm_added-by-hand-0123456789' }
  expect((await again.app.inject({ url: '/admin/teams', headers })).statusCode).toBe(401)
  await again.close()
})

test('a newer version copies the database before it migrates it, and says so', async () => {
  await earlierDatabase()
  const lines: string[] = []
  const clock = testClock('2026-06-01T12:00:00.000Z')
  const { app, admin, close } = await openTestApp({
    dataDir: dir,
    env,
    clock,
    log: (line) => lines.push(line),
  })
  const [name = '', ...more] = copies()
  expect([name, more]).toEqual(['before-migration-0008-2026-06-01T12-00-00.000Z.db', []])
  const copy = join(dir, 'backups', name)
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  expect([inCopy(name, schemaOf), inCopy(name, 'select name from teams')]).toEqual([
    ['0007-budgets'],
    ['Acme'],
  ])
  const status = await app.inject({ url: '/admin/status', headers: admin })
  expect(status.json()).toMatchObject({
    schema: latestSchema,
    upgrade: { from: '0007-budgets', to: latestSchema, copy },
    counts: { teams: 1 },
  })
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'migrated the database', from: '0007-budgets', copy }),
  )
  await close()

  const again = await openTestApp({ dataDir: dir, env })
  expect((await again.app.inject({ url: '/admin/status', headers: again.admin })).json()).toMatchObject({
    upgrade: null,
  })
  await again.close()
  expect(copies()).toHaveLength(1)
})

test('a new database, and TAPCHIP_MIGRATION_BACKUP=off, make no copy', async () => {
  await (await openTestApp({ dataDir: dir, env })).close()
  expect(copies()).toEqual([])
  const other = mkdtempSync(join(tmpdir(), 'tapchip-upgrade-'))
  try {
    await earlierDatabase(other)
    const off = { ...env, TAPCHIP_MIGRATION_BACKUP: 'off' }
    const { app, admin, close } = await openTestApp({ dataDir: other, env: off })
    expect((await app.inject({ url: '/admin/status', headers: admin })).json()).toMatchObject({
      upgrade: { copy: null },
    })
    await close()
    expect(copies(other)).toEqual([])
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

test('a migration that fails leaves the old database and one copy, however often it is tried', async () => {
  const file = await earlierDatabase()
  const change = (sql: string) => {
    const old = new BetterSqlite3(file)
    old.exec(sql)
    old.close()
  }
  // The name of an index that a later migration makes is taken, so that migration fails halfway.
  change('create index "pageVisitsOfChip" on "pageVisits" ("expiresAt")')
  const attempt = () =>
    run('tapchipd', ['--data-dir', dir, '--port', '0'], { ...env, TAPCHIP_DEV_CHAIN: 'off' })
  const first = await attempt()
  expect([first.code, first.stdout]).toEqual([1, ''])
  expect(first.stderr).toMatch(/tapchipd: The database .* could not be migrated to .*pageVisitsOfChip/)
  expect(first.stderr).toContain('Nothing in it was changed')
  expect(first.stderr).toContain('Start that version again')
  expect(first.stderr).not.toContain('    at ')
  const [name = ''] = copies()
  expect(first.stderr).toContain(join(dir, 'backups', name))
  expect((await attempt()).code).toBe(1)
  expect(copies()).toEqual([name])

  const old = new BetterSqlite3(file)
  expect(old.prepare(schemaOf).pluck().all()).toEqual(['0007-budgets'])
  expect(old.prepare('select name from teams').pluck().all()).toEqual(['Acme'])
  expect(
    old
      .prepare('select count(*) from pragma_table_info(?) where name = ?')
      .pluck()
      .get('chipGroups', 'chips'),
  ).toBe(0)
  old.close()

  // What the old version writes meanwhile is in another copy.
  change(`drop index "pageVisitsOfChip"; update teams set name = 'Later'`)
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'], { ...env, TAPCHIP_DEV_CHAIN: 'off' })
  expect(daemon.ready).toMatchObject({
    upgrade: { from: '0007-budgets', to: latestSchema, copy: join(dir, 'backups', copies()[1] ?? '') },
  })
  expect(await daemon.stop()).toBe(0)
  expect(copies().map((copy) => inCopy(copy, 'select name from teams'))).toEqual([['Acme'], ['Later']])
})

test('three copies are kept, and what a killed start left behind is removed', async () => {
  await (await openTestApp({ dataDir: dir, env })).close()
  for (const day of [1, 2, 3, 4]) {
    rmSync(join(dir, 'tapchip.db'))
    rmSync(join(dir, 'instance'))
    await earlierDatabase()
    if (day > 1) writeFileSync(join(dir, 'backups', 'before-migration-0008-x.db.partial'), 'half')
    const clock = testClock(`2026-06-0${day}T12:00:00.000Z`)
    await (await openTestApp({ dataDir: dir, env, clock })).close()
  }
  expect(copies().map((name) => name.slice(22, 32))).toEqual(['2026-06-02', '2026-06-03', '2026-06-04'])
})

test('without room for the copy, nothing is migrated, and the error says what to do', async () => {
  const file = await earlierDatabase()
  const config = { dataDir: dir, ephemeral: false, migrationBackup: true }
  const steps: string[] = []
  const options = {
    log: { info: () => undefined },
    clock: testClock(),
    starting: async (what: string) => void steps.push(what),
    seal: auditSeal(new SecretBox(new Uint8Array(32))),
  }
  const little = { freeBytes: async () => 1_000_000 }
  const refused = upgradeDatabase(file, { config, disk: little, ...options })
  await expect(refused).rejects.toThrow(NoRoomForCopy)
  await expect(refused).rejects.toThrow(/has 1 MB free\. Nothing was changed\. Free some space/)
  const enough = { freeBytes: async () => 1_000_000_000 }
  expect(await upgradeDatabase(file, { config, disk: enough, ...options })).toMatchObject({
    from: '0007-budgets',
  })
  expect(steps).toEqual([
    'copying the database before its migration',
    'copying the database before its migration',
    'migrating the database',
  ])
})
