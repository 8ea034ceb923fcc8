import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { seedOf, startEdit, toldOf, untilItRests } from '../support/batch-crashes.ts'
import { adminToken } from '../support/daemon.ts'
import { callOn } from '../support/fleet.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

const chips = 1200
let directory: string
let env: Record<string, string>
let db: Db
const closing: (() => unknown)[] = []
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tapchip-fleet-batch-'))
  writeFileSync(join(directory, 'seed.json'), JSON.stringify(seedOf(chips)))
  env = {
    ...(await databaseOf(directory)),
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
    TAPCHIP_DEV_CHAIN: 'off',
  }
  db = await openPostgres(env.TAPCHIP_DATABASE_URL ?? '')
  closing.push(
    () => rmSync(directory, { recursive: true, force: true }),
    () => dropDatabaseOf(directory),
    () => db.close(),
  )
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function startDaemon(name: string, ...args: string[]): Promise<DaemonProcess> {
  const dataDir = join(directory, name)
  const daemon = await spawnDaemon(
    ['--data-dir', dataDir, '--port', '0', '--log-level', 'error', ...args],
    env,
  )
  closing.push(() => daemon.kill())
  return daemon
}

const holder = async () =>
  (await db.read.selectFrom('leases').select('holder').where('name', '=', 'background').executeTakeFirst())
    ?.holder
const whole = {
  rows: Array.from({ length: chips }, (_, n) => n + 1),
  statuses: ['changed'],
  recorded: chips,
  ends: 1,
}

test('a batch is run by one of two daemons, and by the other once that one was killed: each row once', async () => {
  const first = await startDaemon('first', '--seed', join(directory, 'seed.json'))
  const before = await holder()
  const second = await startDaemon('second')
  const call = callOn(second.ready.url)
  // Begun at the one that does not run it.
  const id = await startEdit(second.ready.url, chips, { rate: 400 })
  await call(`POST /admin/batches/${id}/start`)
  await expect.poll(async () => (await call(`GET /admin/batches/${id}`)).body.done).toBeGreaterThan(0)
  await first.kill()
  expect((await call(`GET /admin/batches/${id}`)).body).toMatchObject({ state: 'running' })
  expect(await untilItRests(call, id)).toMatchObject({ state: 'done', done: chips, changed: chips })
  expect(await holder()).not.toBe(before)
  expect(await toldOf(call, id)).toEqual(whole)
})

test('a batch is paused at one daemon while the other runs it, and ten that resume it are one', async () => {
  const first = await startDaemon('first', '--seed', join(directory, 'seed.json'))
  const second = await startDaemon('second')
  const [here, there] = [callOn(first.ready.url), callOn(second.ready.url)]
  const id = await startEdit(second.ready.url, chips, { rate: 300 })
  const starts = Array.from({ length: 10 }, (_, n) =>
    (n % 2 ? here : there)(`POST /admin/batches/${id}/start`),
  )
  expect(new Set((await Promise.all(starts)).map(({ status }) => status))).toEqual(new Set([200]))
  await expect.poll(async () => (await there(`GET /admin/batches/${id}`)).body.done).toBeGreaterThan(0)
  const { body: paused } = await there(`POST /admin/batches/${id}/pause`)
  expect(paused).toMatchObject({ state: 'paused' })
  const resumed = Array.from({ length: 10 }, (_, n) =>
    (n % 2 ? here : there)(`POST /admin/batches/${id}/resume`, { rate: 1_000_000 }),
  )
  expect(new Set((await Promise.all(resumed)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(await untilItRests(there, id)).toMatchObject({ state: 'done', changed: chips })
  expect(await toldOf(here, id)).toEqual(whole)
})
