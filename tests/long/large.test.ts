import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawnCli } from '../support/cli-process.ts'
import { fillDatabase, largeUid } from '../support/large-database.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Five million taps of a million chips: every answer is right, whatever goes on. How fast is for the bench to say.

const chips = 1_000_000
const taps = 5_000_000
const edited = 200_000
const rare = 3
const adminToken = 'adm_large-test-0123456789'
const dir = mkdtempSync(join(tmpdir(), 'tapchip-large-'))
const data = join(dir, 'data')
const file = join(data, 'tapchip.db')
const env = { TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_RATE_LIMIT: 'off' }
const args = ['--data-dir', data, '--port', '0', '--log-level', 'error']
const hexOf = (n: number): string => BigInt(largeUid(n)).toString(16).toUpperCase().padStart(14, '0')

let daemon: DaemonProcess
beforeAll(async () => {
  const seedFile = join(dir, 'seed.json')
  const first = { uid: hexOf(0), keySet: 101 }
  const seed = {
    version: 1,
    keySets: [derived],
    teams: [
      {
        name: 'Acme',
        apiKeys: [{ name: 'ops', key: acmeKey }],
        chipGroups: [
          { name: 'Stock', chips: [first] },
          { name: 'Edited', chips: [] },
        ],
      },
      { name: 'Quiet', chipGroups: [{ name: 'Few', chips: [] }] },
    ],
  }
  writeFileSync(seedFile, JSON.stringify(seed))
  const seeded = await spawnDaemon([...args, '--seed', seedFile], env)
  await seeded.stop()
  const db = new Database(file)
  const old = db.prepare(`insert into taps (at, chipUid, teamId, keySetId, counter, outcome, via)
    select '2025-06-01T00:00:00.000Z', uid, (select id from teams where name = 'Quiet'), keySetId, ?, 'disabled', 'find'
    from chips`)
  for (let counter = 1; counter <= rare; counter++) old.run(counter)
  db.close()
  fillDatabase(file, { chips, taps })
  const groups = new Database(file)
  groups
    .prepare(
      `update chips set chipGroupId = (select id from chipGroups where name = 'Edited')
       where uid in (select uid from chips order by uid limit ?)`,
    )
    .run(edited)
  groups.exec('update chipGroups set chips = (select count(*) from chips where chipGroupId = chipGroups.id)')
  groups.close()
  daemon = await spawnDaemon(args, env)
}, 300_000)
afterAll(async () => {
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
})

const admin = { authorization: `Bearer ${adminToken}` }
const headers = { ...admin, 'x-svc-api-key': acmeKey }
const get = (path: string): Promise<Response> => fetch(daemon.ready.url + path, { headers })

async function linesIn(answer: Response): Promise<number> {
  let lines = 0
  for await (const chunk of answer.body ?? []) for (const byte of chunk) if (byte === 10) lines += 1
  return lines
}

async function tapchip(...command: string[]): Promise<string> {
  const home = join(dir, 'home')
  const place = { HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home }
  const running = spawnCli(
    command,
    { ...place, TAPCHIP_URL: daemon.ready.url, TAPCHIP_API_KEY: acmeKey, TAPCHIP_ADMIN_TOKEN: adminToken },
    dir,
  )
  expect([await running.ended, running.stderr()]).toEqual([0, expect.any(String)])
  return running.stdout()
}

let shown = 0
/** Of chips that nobody edits; each tap is one that was never shown before. */
const freshTap = (): string => {
  const n = edited + ((shown++ * 7919) % (chips - edited))
  return tapPath(tap(derived, { uid: hexOf(n) }, 100_000 + shown), '/chips/find')
}

/** Taps that come all the time while something goes on. @returns the answers that were not valid */
async function whileTapping(work: () => Promise<unknown>): Promise<string[]> {
  const wrong: string[] = []
  let isOver = false
  let answered = 0
  const tapper = async () => {
    while (!isOver) {
      const answer = await fetch(daemon.ready.url + freshTap())
      const text = await answer.text()
      answered += 1
      if (!text.includes('"isValidTap":true')) wrong.push(`${answer.status} ${text}`)
    }
  }
  const tappers = Promise.all(Array.from({ length: 4 }, tapper))
  await work().finally(() => {
    isOver = true
  })
  await tappers
  expect(answered).toBeGreaterThan(0)
  return wrong
}

interface ListedTap {
  id: number
  team: string | null
  outcome: string
}
const listed = async (query: string): Promise<ListedTap[]> => {
  // With a team's key beside it, the list would be of that team.
  const answer = await fetch(`${daemon.ready.url}/admin/taps?${query}`, { headers: admin })
  expect(answer.status).toBe(200)
  const taps: ListedTap[] = JSON.parse(await answer.text())
  return taps
}

test('are counted and checked', async () => {
  const status = await (await get('/admin/status?check=true')).json()
  // The first chip is one of them.
  expect(status).toMatchObject({ counts: { chips, taps: taps + rare }, database: { integrity: 'ok' } })
})

test('are listed right: the newest, those of a quiet team, and those of a rare outcome', async () => {
  const wrong = await whileTapping(async () => {
    const newest = await listed('limit=50')
    expect(newest).toHaveLength(50)
    expect(newest.map(({ id }) => id)).toEqual(newest.map(({ id }) => id).sort((a, b) => b - a))
    for (const query of ['team=Quiet', 'outcome=disabled']) {
      const few = await listed(query)
      expect(few.map(({ team, outcome }) => [team, outcome])).toEqual(Array(rare).fill(['Quiet', 'disabled']))
    }
    const refused = await listed('outcome=refused&limit=100')
    expect(refused.map(({ outcome }) => outcome)).toEqual(Array(100).fill('replayed'))
  })
  expect(wrong).toEqual([])
})

test('are counted by outcome, group and day, over all of the time that there is, while taps are taken', async () => {
  const stats = async (by: string): Promise<{ taps: number }[]> =>
    JSON.parse(
      await tapchip(
        'taps',
        'stats',
        '--by',
        by,
        '--since',
        '2025-01-01',
        '--until',
        '2026-12-31',
        '--team',
        'Acme',
        '--json',
      ),
    )
  const sum = (rows: { taps: number }[]) => rows.reduce((all, { taps }) => all + taps, 0)
  const wrong = await whileTapping(async () => {
    for (const by of ['outcome', 'group', 'day']) {
      const begun = performance.now()
      expect(sum(await stats(by))).toBeGreaterThanOrEqual(taps)
      console.info(`${taps} taps by ${by}: ${Math.round(performance.now() - begun)} ms`)
    }
  })
  expect(wrong).toEqual([])
})

test('every tap is taken while chips are listed, exported, imported and edited', async () => {
  const wrong = await whileTapping(async () => {
    const list = await get('/chips?name=Stock')
    const stock: unknown = await list.json()
    expect(Array.isArray(stock) && stock.length).toBe(chips - edited)
    expect(await linesIn(await get('/admin/chips/export?team=Acme'))).toBe(chips)
    const more = Array.from({ length: 20_000 }, (_, n) => String(1_260_000_000_000_000 + n))
    const imported = await fetch(
      `${daemon.ready.url}/admin/chips/import?team=Acme&chipGroup=More&keySet=101&report=failures`,
      {
        method: 'POST',
        headers: { ...headers, 'content-type': 'text/csv' },
        body: `uid\n${more.join('\n')}\n`,
      },
    )
    expect(JSON.parse(await imported.text())).toEqual({ created: 20_000, unchanged: 0, failed: 0 })
    const url = 'https://large.example/'
    await tapchip('chips', 'edit', '--chip-group', 'Edited', '--redirect-url', url, '--yes')
    const group = await (await get('/chips?name=Edited')).text()
    expect(group.split(url).length - 1).toBe(edited)
  })
  expect(wrong).toEqual([])
})

test('every tap is taken while the daemon is examined and backed up', async () => {
  const wrong = await whileTapping(async () => {
    await tapchip('doctor')
    const backup = await fetch(`${daemon.ready.url}/admin/backup`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    })
    const { path }: { path: string } = JSON.parse(await backup.text())
    const copy = new Database(join(path, 'tapchip.db'), { readonly: true })
    expect(copy.prepare('select count(*) from chips').pluck().get()).toBe(chips + 20_000)
    copy.close()
  })
  expect(wrong).toEqual([])
})

test('taps wait for another program that holds the database locked, and none is refused', async () => {
  const wrong = await whileTapping(async () => {
    for (let time = 0; time < 3; time++) {
      const other = new Database(file)
      other.exec('begin immediate')
      // What only reads goes on meanwhile.
      for (const path of ['/healthz', '/readyz', '/admin/status']) expect((await get(path)).status).toBe(200)
      expect(await listed('team=Quiet')).toHaveLength(rare)
      other.exec('rollback')
      other.close()
      await (await fetch(daemon.ready.url + freshTap())).text()
    }
  })
  expect(wrong).toEqual([])
})

test('a killed daemon starts on it again, with all that was answered', async () => {
  const path = freshTap()
  expect(await (await fetch(daemon.ready.url + path)).text()).toContain('"isValidTap":true')
  await daemon.kill()
  daemon = await spawnDaemon(args, env)
  expect(await (await fetch(daemon.ready.url + path)).text()).toContain('"isValidTap":false')
  expect(await daemon.stop()).toBe(0)
})
