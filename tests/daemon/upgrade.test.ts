import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { Kysely } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { NoRoomForCopy, upgradeDatabase } from '../../src/daemon/process/upgrade.ts'
import { auditSeal } from '../../src/daemon/store/audit/audit-head.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { migrate, openDatabase } from '../../src/daemon/store/database/open.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { currentSchema, nextSchema, withNext, withoutNext } from '../support/schemas.ts'

const dataKey = '0123456789abcdef'.repeat(4)
const env = { TAPCHIP_DATA_KEY: dataKey }

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-upgrade-'))
})
afterEach(() => {
  withoutNext()
  rmSync(dir, { recursive: true, force: true })
})

/** A database as the version before the next one leaves it, with a team; then the next version is here. */
async function earlierDatabase(inDir = dir): Promise<string> {
  const file = join(inDir, 'tapchip.db')
  withoutNext()
  await migrate(file)
  const db = openDatabase(file)
  await db.write((trx) =>
    trx.insertInto('teams').values({ name: 'Acme', createdAt: '2026-01-01T00:00:00.000Z' }).execute(),
  )
  await db.close()
  withNext(addColumn)
  return file
}

const addColumn = (db: Kysely<unknown>) =>
  db.schema
    .alterTable('chipGroups')
    .addColumn('next', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()

const copies = (inDir = dir) => {
  const folder = join(inDir, 'backups')
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  // Each has what proves that nobody has changed it, and nothing else is left.
  for (const name of names)
    expect(readdirSync(join(folder, name)).sort()).toEqual(['backup.json', 'tapchip.db'])
  return names
}
const inCopy = (name: string, sql: string): unknown => {
  const copy = new BetterSqlite3(join(dir, 'backups', name, 'tapchip.db'), { readonly: true })
  try {
    return copy.prepare(sql).pluck().all()
  } finally {
    copy.close()
  }
}
const schemaOf = 'select max(name) from kysely_migration'

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
  expect([name, more]).toEqual([
    `before-migration-${String(Number.parseInt(currentSchema, 10) + 1).padStart(4, '0')}-2026-06-01T12-00-00.000Z`,
    [],
  ])
  const copy = join(dir, 'backups', name)
  expect(statSync(join(copy, 'tapchip.db')).mode & 0o777).toBe(0o600)
  expect([inCopy(name, schemaOf), inCopy(name, 'select name from teams')]).toEqual([
    [currentSchema],
    ['Acme'],
  ])
  const status = await app.inject({ url: '/admin/status', headers: admin })
  expect(status.json()).toMatchObject({
    schema: nextSchema,
    upgrade: { from: currentSchema, to: nextSchema, copy },
    counts: { teams: 1 },
  })
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'migrated the database', from: currentSchema, copy }),
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
  // The name of an index that the migration makes is taken, so it fails halfway.
  change('create index "next" on "spentCodes" ("usedAt")')
  withNext(async (db) => {
    await addColumn(db)
    await db.schema.createIndex('next').on('spentCodes').column('subject').execute()
  })
  const attempt = () => openTestApp({ dataDir: dir, env }).catch((error: Error) => error)
  const first = await attempt()
  expect(first).toMatchObject({ name: 'MigrationFailed' })
  const { message } = first as Error
  expect(message).toMatch(/^The database .* could not be migrated to 9998-next \(.*next/)
  expect(message).toContain('Nothing in it was changed')
  expect(message).toContain('Start that version again')
  const [name = ''] = copies()
  expect(message).toContain(join(dir, 'backups', name))
  expect(await attempt()).toMatchObject({ name: 'MigrationFailed' })
  expect(copies()).toEqual([name])

  const old = new BetterSqlite3(file)
  expect(old.prepare(schemaOf).pluck().all()).toEqual([currentSchema])
  expect(old.prepare('select name from teams').pluck().all()).toEqual(['Acme'])
  expect(
    old.prepare('select count(*) from pragma_table_info(?) where name = ?').pluck().get('chipGroups', 'next'),
  ).toBe(0)
  old.close()

  // What the old version writes meanwhile is in another copy.
  change(`drop index "next"; update teams set name = 'Later'`)
  const { app, admin, close } = await openTestApp({ dataDir: dir, env })
  expect((await app.inject({ url: '/admin/status', headers: admin })).json()).toMatchObject({
    upgrade: { from: currentSchema, to: nextSchema, copy: join(dir, 'backups', copies()[1] ?? '') },
  })
  await close()
  expect(copies().map((copy) => inCopy(copy, 'select name from teams'))).toEqual([['Acme'], ['Later']])
})

test('three copies are kept, and what a killed start left behind is removed', async () => {
  await (await openTestApp({ dataDir: dir, env })).close()
  for (const day of [1, 2, 3, 4]) {
    rmSync(join(dir, 'tapchip.db'))
    rmSync(join(dir, 'instance'))
    await earlierDatabase()
    if (day > 1) mkdirSync(join(dir, 'backups', 'before-migration-0027-x.partial'))
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
    from: currentSchema,
  })
  expect(steps).toEqual([
    'copying the database before its migration',
    'copying the database before its migration',
    'migrating the database',
  ])
})
