import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAsOwner } from '../../scripts/postgres-server.mjs'
import { copyStores } from '../../src/daemon/process/store-copy.ts'
import { cliHome } from '../support/cli.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, onServer, server, testDataKey } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const dir = mkdtempSync(join(tmpdir(), 'tapchip-moving-'))
const onSqlite = { TAPCHIP_DATABASE_URL: '', TAPCHIP_DATA_KEY: testDataKey }
const file = join(dir, 'file')
const names = ['one', 'raced', 'used', 'next', 'dumped', 'images']

beforeAll(async () => {
  mkdirSync(file)
  await (await openTestApp({ dataDir: file, env: onSqlite, seed })).close()
})
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true })
  for (const name of names) await dropDatabaseOf(join(dir, name))
})

const urlOf = async (name: string) => (await databaseOf(join(dir, name))).TAPCHIP_DATABASE_URL ?? ''
const copied = (from: string, to: string) =>
  copyStores({ from, to }, { dataKey: testDataKey }, () => undefined)
const found = async ({ app }: TestApp, counter: number) =>
  (await app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, counter), '/chips/find') })).json()
    .isValidTap

test('from one server to another, and of ten copies into one target one is made, and the others are refused', async () => {
  const [one, raced] = [await urlOf('one'), await urlOf('raced')]
  await copied(file, one)
  const made = await Promise.allSettled(Array.from({ length: 10 }, () => copied(one, raced)))
  const whole = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const refused = made.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
  expect(whole, refused.join('\n')).toHaveLength(1)
  for (const why of refused) expect(why).toMatch(/Another copy into|already contains data/)
  expect(whole[0]?.rows).toBeGreaterThan(10)
  const t = await openTestApp({ dataDir: join(dir, 'raced'), env: await databaseOf(join(dir, 'raced')) })
  expect(await found(t, 1)).toBe(true)
  await t.close()
})

test('a copy that is refused since its source is in use leaves no empty database to start on', async () => {
  const env = await databaseOf(join(dir, 'used'))
  const using = await openTestApp({ dataDir: join(dir, 'using'), env })
  await using.ctx.db.read.selectFrom('settings').selectAll().execute()
  const target = join(dir, 'target')
  await expect(copied(env.TAPCHIP_DATABASE_URL ?? '', target)).rejects.toThrow(/used by a running daemon/)
  expect(existsSync(target)).toBe(false)
  await using.close()
  const here = cliHome({ PGUSER: 'tapchip' })
  const run = async (to: string, key = testDataKey) => {
    here.env.TAPCHIP_DATA_KEY = key
    return (await here.run('store', 'copy', '--from', env.TAPCHIP_DATABASE_URL ?? '', '--to', to)).stderr
  }
  expect(await run(target, '')).toMatch(/Give the data key of postgres:.* in TAPCHIP_DATA_KEY/)
  expect(await run('mysql://db1/tapchip')).toMatch(/Only postgres:/)
  expect(await run(`${server}/absent`)).toMatch(/database "absent" does not exist. Check --to /)
  here.remove()
})

test('a data directory whose database is elsewhere, or a server without the one that is here, is refused', async () => {
  const dataDir = join(dir, 'moved')
  cpSync(file, dataDir, { recursive: true })
  const env = await databaseOf(join(dir, 'next'))
  await expect(openTestApp({ dataDir, env })).rejects.toThrow(
    /is empty: every chip would be unknown. Copy it/,
  )
  await copied(dataDir, env.TAPCHIP_DATABASE_URL ?? '')
  const there = await openTestApp({ dataDir, env })
  expect(await found(there, 1)).toBe(true)
  await there.close()
  // Without the setting, the same taps would be taken again.
  await expect(openTestApp({ dataDir, env: onSqlite })).rejects.toThrow(/TAPCHIP_DATABASE_URL is not set/)
  rmSync(join(dataDir, 'tapchip.db'))
  await expect(openTestApp({ dataDir, env: onSqlite })).rejects.toThrow(/TAPCHIP_DATABASE_URL is not set/)
  await copied(env.TAPCHIP_DATABASE_URL ?? '', dataDir)
  const back = await openTestApp({ dataDir, env: onSqlite })
  expect([await found(back, 1), await found(back, 2)]).toEqual([false, true])
  await back.close()
})

test('after pg_dump, pg_restore, and mark-restored, taps from before the restore are refused, and later ones are good', async () => {
  const from = await databaseOf(join(dir, 'dumped'))
  // Nothing in it, not even tables.
  const loaded = `loaded_${process.pid}`
  await onServer((client) => client.query(`create database ${loaded} template template0`))
  const to = `${server}/${loaded}`
  mkdirSync(join(dir, 'before'))
  const t = await openTestApp({ dataDir: join(dir, 'before'), env: from, seed })
  expect([await found(t, 1), await found(t, 2)]).toEqual([true, true])
  const dump = join(tmpdir(), `tapchip-moving-${process.pid}.dump`)
  runAsOwner('pg_dump', ['--format=custom', `--file=${dump}`, from.TAPCHIP_DATABASE_URL ?? ''])
  expect(await found(t, 3)).toBe(true)
  await t.close()
  try {
    runAsOwner('pg_restore', ['--exit-on-error', `--dbname=${to}`, dump])
  } finally {
    rmSync(dump, { force: true })
  }
  const here = cliHome({ TAPCHIP_DATA_KEY: testDataKey, TAPCHIP_DATA_DIR: join(dir, 'marking') })
  const marked = await here.run('store', 'mark-restored', '--database', to, '--yes', '--json')
  expect([marked.stderr, marked.code]).toEqual([expect.stringMatching(/are valid again/), 0])
  expect(readdirSync(here.home)).not.toContain('server')
  here.remove()
  const again = await openTestApp({
    dataDir: join(dir, 'after'),
    env: { ...from, TAPCHIP_DATABASE_URL: to },
  })
  // What was used after the dump only brings the counter up to date.
  expect([await found(again, 2), await found(again, 3), await found(again, 3)]).toEqual([false, false, false])
  expect([await found(again, 4), await found(again, 4)]).toEqual([true, false])
  await again.close()
  await onServer((client) => client.query(`drop database ${loaded} with (force)`))
})
