import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { openTestStore } from '../support/engines.ts'
import { bob, chips } from '../support/phygitals.ts'
import { databaseOf, dropDatabaseOf, isPostgres, onServer } from '../support/postgres.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { derived } from '../support/seeds.ts'
import { severalThingsToday } from '../support/several-things.ts'
import { tap, tapPath } from '../support/taps.ts'

// One press for a claim, two badges, and a guestbook, killed between these things: on SQLite by itself right before or
// after the commit of one of them, on PostgreSQL from outside while one of them waits for a lock.

const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')
const uid = chips.jacket(1)

async function open({ ready: { url } }: DaemonProcess) {
  const page = await fetch(url + tapPath(tap(derived, { uid }, 1)), { headers: { accept: 'text/html' } })
  const body = await page.text()
  const ref = /data-ref="([^"]+)"/.exec(body)?.[1] ?? ''
  return { ref, keys: [...body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, key = '']) => key) }
}

const press = ({ ready: { url } }: DaemonProcess, { ref, keys }: Awaited<ReturnType<typeof open>>) =>
  fetch(`${url}/t/act`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams([
      ...Object.entries({ ref, kind: 'collect', recipient: bob }),
      ...keys.map((key): [string, string] => ['choice', key]),
    ]),
  })

/** Kills the daemon while it does a press. */
type Kill = (daemon: DaemonProcess, pressed: () => Promise<Response>, dataDir: string) => Promise<void>

async function collectKilled(env: Record<string, string>, kill: Kill) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-collect-'))
  onTestFinished(async () => {
    rmSync(dataDir, { recursive: true, force: true })
    await dropDatabaseOf(dataDir)
  })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(severalThingsToday()))
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
  const chain = { TAPCHIP_DEV_CHAIN: 'on' }
  // What it writes for the seed is not what kills it.
  const before = await spawnDaemon([...args, '--seed', seedFile], chain)
  await before.stop()
  const torn = await spawnDaemon(args, { ...chain, ...env })
  const page = await open(torn)
  expect(page.keys).toHaveLength(4)
  await kill(torn, () => press(torn, page), dataDir)

  const daemon = await spawnDaemon(args, chain)
  onTestFinished(() => daemon.stop().then(() => undefined))
  const db = await openTestStore(dataDir)
  onTestFinished(() => db.close())
  const things = async () => {
    const badges = await db.read.selectFrom('badgeClaims').select(['recipient', 'state']).execute()
    const moves = await db.read
      .selectFrom('transactions')
      .select(['kind', 'state'])
      .where('kind', 'in', ['phygital-transfer', 'guestbook-mint'])
      .execute()
    return { badges, moves }
  }
  const between = await things()
  const again = await Promise.all([1, 2, 3].map(() => press(daemon, page)))
  expect(again.map(({ status }) => status)).toEqual([200, 200, 200])
  await expect
    .poll(async () => (await things()).moves.map(({ state }) => state), { timeout: 60_000 })
    .toEqual(['confirmed', 'confirmed'])
  const { badges, moves } = await things()
  expect(badges).toEqual(Array(2).fill({ recipient: getAddress(bob), state: 'claimed' }))
  expect(moves.map(({ kind }) => kind).sort()).toEqual(['guestbook-mint', 'phygital-transfer'])
  const remaining = await db.read.selectFrom('badgeEvents').select('remainingCodes').execute()
  expect(remaining).toEqual(Array(2).fill({ remainingCodes: 9 }))
  return between.badges.length + between.moves.length
}

const dies: Kill = async (daemon, pressed) => {
  await expect(pressed()).rejects.toThrow()
  expect(await daemon.exited).toBeNull()
}

if (isPostgres)
  test('killed while one of the things is being written, each happens once by the same press', async () => {
    const done = await collectKilled({}, async (daemon, pressed, dataDir) => {
      const { TAPCHIP_DATABASE_URL: url = '' } = await databaseOf(dataDir)
      const database = new URL(url).pathname.slice(1)
      await onServer(async (client) => {
        await client.query('begin')
        await client.query('select id from "badgeEvents" where id = 2 for update')
        const cut = pressed().then(
          () => 'answered',
          () => 'cut',
        )
        const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
        const waiting = async () => (await client.query(waits)).rowCount ?? 0
        await expect.poll(waiting, { timeout: 30_000 }).toBeGreaterThan(0)
        await daemon.kill()
        expect(await cut).toBe('cut')
      }, database)
    })
    expect(done).toBeLessThan(4)
  }, 180_000)
else
  test.each([
    { sql: 'insert into "badgeClaims"', when: 'before' },
    { sql: 'insert into "guestbookEntries"', when: 'after' },
  ])(
    'killed $when the commit of $sql, each thing happens once by the same press',
    async ({ sql, when }) => {
      const env = { NODE_OPTIONS: `--import ${preload}`, KILL_SQL: sql, KILL_AT: '1', KILL_WHEN: when }
      const done = await collectKilled(env, dies)
      // They are written beside each other, so the last write may be the one that ends it.
      if (when === 'before') expect(done).toBeLessThan(4)
      else expect(done).toBeGreaterThan(0)
    },
    180_000,
  )
