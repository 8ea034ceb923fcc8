import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import type { Browser, Page } from 'playwright-core'
import { environmentOf, openConsole, rootToken, startConsole } from './console.ts'
import { chipUid } from './phygitals.ts'
import { spawnDaemon } from './process.ts'
import { acmeKey, derived } from './seeds.ts'

// What the docs show of the console: an evening at a harbour, where people tap what they bought and what they wear.

const team = 'Harbour Run'
const host = 'https://img.harbour.example'
const things = [
  { id: 'jacket', name: 'Wind jacket', group: 'Shop', chips: 60, color: '#2f6f8f' },
  { id: 'bottle', name: 'Steel bottle', group: 'Shop', chips: 40, color: '#7a8b99' },
  { id: 'bib', name: 'Runner’s bib', group: 'Runners', chips: 120, color: '#c8553d' },
  { id: 'medal', name: 'Finisher’s medal', group: 'Finish line', chips: 80, color: '#c9a227' },
  { id: 'print', name: 'Print, signed by Ida Moen', group: 'Gallery', chips: 25, color: '#5b4b8a' },
] as const

const numberOf = (thing: number, n: number): number => thing * 1000 + n + 1
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: team,
      apiKeys: [{ name: 'shop', key: acmeKey }],
      items: things.map(({ id, name }) => ({
        id,
        name,
        description: name,
        imageUrl: `${host}/${id}.svg`,
        media: [{ mimeType: 'image/svg+xml', url: `${host}/${id}.svg` }],
      })),
      chipGroups: [...new Set(things.map(({ group }) => group))].map((name) => ({
        name,
        chips: things.flatMap(({ id, group, chips }, thing) =>
          group !== name
            ? []
            : Array.from({ length: chips }, (_, n) => ({
                uid: chipUid(numberOf(thing, n)),
                keySet: derived.id,
                label: `${id.slice(0, 3).toUpperCase()}-${String(n + 1).padStart(3, '0')}`,
                item: id,
              })),
        ),
      })),
    },
  ],
}

/** Taps of the last day by hour, oldest first: a quiet night, the run, the evening. */
const byHour = [
  ...[56, 24, 12, 4, 0, 0, 8, 36, 124, 232, 304, 368],
  ...[480, 564, 532, 472, 616, 852, 1072, 964, 748, 904, 1136, 1240],
]
const hourMs = 3_600_000

/** Writes the day into the database of a stopped daemon. */
function fillEvening(file: string): void {
  const db = new BetterSqlite3(file)
  const chips = db
    .prepare<[], { uid: string; teamId: number }>('select uid, teamId from chips order by uid')
    .all()
  const insert = db.prepare(
    `insert into taps (at, chipUid, teamId, keySetId, counter, outcome, via, previous)
     values (?, ?, ?, ${derived.id}, ?, ?, ?, (select lastTap from chips where uid = ?))`,
  )
  const tapped = db.prepare('update chips set lastTap = ?, lastTapAt = ?, lastCounter = ? where uid = ?')
  const counters = new Map<string, number>()
  const now = Date.now()
  let state = 1
  const random = () => {
    state = (state * 48_271) % 0x7fffffff
    return state / 0x7fffffff
  }
  const times = byHour.flatMap((taps, hour) =>
    Array.from({ length: taps }, () => now - (byHour.length - hour - random()) * hourMs),
  )
  times.sort((a, b) => a - b)
  const tapAt = (at: number, n: number, outcome: string, of = Math.floor(random() * chips.length)) => {
    const chip = chips[of]
    if (!chip) return
    const counter = (counters.get(chip.uid) ?? 0) + (outcome === 'valid' ? 1 : 0)
    counters.set(chip.uid, counter)
    const date = new Date(at).toISOString()
    const via = n % 6 === 0 ? 'find' : 'page'
    const { lastInsertRowid } = insert.run(date, chip.uid, chip.teamId, counter, outcome, via, chip.uid)
    if (outcome === 'valid') tapped.run(lastInsertRowid, date, counter, chip.uid)
  }
  db.transaction(() => {
    for (const [n, at] of times.entries()) {
      // One link goes round in the last minutes.
      if (n > times.length - 60 && n % 4 === 0) tapAt(at, n, 'replayed', 12)
      else tapAt(at, n, random() < 0.03 ? 'replayed' : 'valid')
    }
    const open = db.prepare("update chips set tagTamper = 1, tamper = 'open', openedAt = ? where uid = ?")
    for (const [n, of] of [3, 71, 150].entries())
      open.run(new Date(now - (n * 47 + 11) * 60_000).toISOString(), chips[of]?.uid)
  })()
  db.close()
}

const drawing = (color: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" fill="${color}"/><circle cx="48" cy="40" r="19" fill="#fff8"/><path d="M8 96c6-30 22-38 40-38s34 8 40 38z" fill="#fff5"/></svg>`

interface Shot {
  readonly path: string
  readonly height: number
  /** Until what the picture is about is there. */
  ready(page: Page): Promise<unknown>
}

const chip = chipUid(numberOf(4, 6))
const shots: Readonly<Record<string, Shot>> = {
  'console-now': {
    path: '/now',
    height: 860,
    ready: async (page) => {
      await page.locator('.now-taps img').nth(3).waitFor()
      await page.locator('.now-aside').getByText('Finisher’s medal').waitFor()
    },
  },
  'console-chip': {
    path: `/chips/${chip}`,
    height: 700,
    ready: (page) => page.locator('.timeline li').nth(5).waitFor(),
  },
  'console-look': {
    path: '/look?state=claim&language=en',
    height: 860,
    ready: (page) => page.frameLocator('iframe').nth(1).locator('form').waitFor(),
  },
}

export const consolePictures = Object.keys(shots)

/** Where it is evening now. */
function eveningZone(): string {
  const ahead = ((20 - new Date().getUTCHours() + 36) % 24) - 12
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
}

/** @returns WebP, by the names in {@link consolePictures} */
export async function drawConsole(browser: Browser): Promise<Map<string, Buffer>> {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-pictures-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const args = ['--data-dir', join(dir, 'data'), '--port', '0', '--log-level', 'error']
  const env = { TAPCHIP_ADMIN_TOKEN: rootToken }
  await (await spawnDaemon([...args, '--seed', seedFile], env)).stop()
  fillEvening(join(dir, 'data', 'tapchip.db'))
  const daemon = await spawnDaemon(args, env)
  try {
    await liveThrough(daemon.ready.admin)
    const { page } = await openConsole(await startConsole(environmentOf(daemon)), browser, {
      viewport: { width: 1280, height: 860 },
      deviceScaleFactor: 1.25,
      timezoneId: eveningZone(),
    })
    await page.context().route(`${host}/**`, (route) => {
      const { color = '#888' } = things.find(({ id }) => route.request().url().includes(id)) ?? {}
      return route.fulfill({ contentType: 'image/svg+xml', body: drawing(color) })
    })
    const drawn = new Map<string, Buffer>()
    for (const [name, { path, height, ready }] of Object.entries(shots)) {
      await page.setViewportSize({ width: 1280, height })
      await page.goto(new URL(path, page.url()).href, { waitUntil: 'load' })
      await ready(page)
      const session = await page.context().newCDPSession(page)
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 60 })
      drawn.set(name, Buffer.from(data, 'base64'))
    }
    return drawn
  } finally {
    await daemon.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** What happened to the chip that a picture is of, and the team's look. */
async function liveThrough(admin: string): Promise<void> {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' }
    const answer = await fetch(`${admin}/admin${path}`, { method, headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
    return answer.json()
  }
  await call('POST', `/chips/${chip}/disable`, { reason: 'Reported stolen' })
  await call('POST', `/chips/${chip}/enable`)
  await call('POST', `/chips/${chip}/notes`, { text: 'Framed in Oslo' })
  const brand = { name: team, color: '#12495f' }
  await call('PATCH', '/teams/1', { brand })
}
