import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { onTerminal } from '../support/cli-process.ts'
import { type Console, environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { chipUid } from '../support/phygitals.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Every screen with whatever somebody else may have written, narrow, and in German.

const attack = `"><img src=x onerror=hacked=1><script>hacked=2</script><style>*{display:none}</style>\u202egnp.`
const chip = chipUid(1)
const items = [
  { id: 'plain', imageUrl: 'http://tracker.example/a.png' },
  { id: 'vector', imageUrl: 'http://other.example/b.svg' },
  { id: 'quoted', imageUrl: 'https://img.example/a.png?x="onerror="hacked=4' },
].map((item) => ({ ...item, name: attack, description: 'x'.repeat(10_000) }))
const event = { name: attack, description: attack, requestedCodes: 5 }
const dates = { startDate: '2026-01-10', endDate: '2035-12-31', expiryDate: '2036-01-31' }
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: `Acme ${attack}`,
      apiKeys: [{ name: 'ops', key: acmeKey }],
      items,
      chipGroups: [
        {
          name: attack,
          chips: items.map(({ id: item }, n) => ({
            uid: chipUid(n + 1),
            keySet: 101,
            item,
            label: n === 0 ? 'Löwe-1' : `${n}${attack}${'y'.repeat(60)}`,
          })),
        },
      ],
      badgeEvents: [{ ...event, ...dates, chips: [chip] }],
      guestbookContracts: [
        {
          ...{ symbol: 'GB', name: attack, chainId: 31337 },
          events: [{ name: attack, tokenId: '1', metadata: { name: attack }, chips: [chip] }],
        },
      ],
    },
  ],
}

let daemon: DaemonProcess
let browser: Browser
let console: Console | undefined
beforeAll(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-console-screens-'))
  writeFileSync(join(dir, 'seed.json'), JSON.stringify(seed))
  daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', join(dir, 'seed.json')], {
    TAPCHIP_ADMIN_TOKEN: rootToken,
  })
  rmSync(dir, { recursive: true })
  browser = await openBrowser()
  for (const n of [1, 2, 3])
    await fetch(`${daemon.ready.url}${tapPath(tap(derived, { uid: chipUid(n) }, 1), '/chips/find')}`)
  await admin(`/chips/${chip}/disable`, { reason: `${attack}${'z'.repeat(300)}` })
  await admin(`/chips/${chip}/notes`, { text: attack })
  await admin(`/webhooks`, { url: `https://hooks.example/${encodeURIComponent(attack)}` })
}, 120_000)
afterAll(async () => {
  await browser.close()
  await daemon.stop()
})

async function admin(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`${daemon.ready.admin}/admin${path}`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  })
  expect([path, answer.status, answer.ok ? '' : await answer.text()]).toEqual([path, 200, ''])
}

/** Each screen, and what is there once it has read what it shows. */
const screens = {
  now: ['/now', 'tbody tr[data-index]'],
  chips: ['/chips', 'tbody tr[data-index]'],
  chip: [`/chips/${chip}`, '.timeline li'],
  batches: ['/batches', '.empty'],
  events: ['/events', 'tbody tr'],
  chain: ['/chain', '.states'],
  webhooks: ['/webhooks', '.endpoint, tbody tr, li'],
  table: ['/table', '.empty'],
  look: ['/look', 'iframe'],
  daemon: ['/daemon', '.findings li'],
} as const

async function goTo(page: Page, origin: string, name: keyof typeof screens): Promise<void> {
  const [path, shown] = screens[name]
  await page.goto(`${origin}${path}`)
  await page.locator(`main[data-screen=${name}]`).locator(shown).first().waitFor()
}

const open = async (options: Parameters<typeof openConsole>[2]) => {
  console = await startConsole(environmentOf(daemon))
  return { ...(await openConsole(console, browser, options)), origin: console.origin }
}

test('what others wrote is text on every screen, in German and 320 pixels wide too', async () => {
  const { page, complaints, origin } = await open({ locale: 'de-DE', viewport: { width: 320, height: 720 } })
  const elsewhere = new Set<string>()
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (!request.url().startsWith(origin) && protocol !== 'data:') elsewhere.add(`${protocol}//${host}`)
  })
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`))
  await page.context().route('https://img.example/**', (route) => route.abort())
  for (const name of Object.keys(screens) as (keyof typeof screens)[]) {
    await goTo(page, origin, name)
    const found = await page.evaluate(`({
      hacked: window.hacked,
      foreign: document.querySelectorAll('img[src="x"], main script, main style, a[href^="javascript"]').length,
      width: document.documentElement.scrollWidth,
      language: document.documentElement.lang,
    })`)
    expect([name, found]).toEqual([name, { hacked: undefined, foreign: 0, width: 320, language: 'de' }])
    expect([name, await audit(page)]).toEqual([name, []])
  }
  expect(complaints).toEqual([])
  // Pictures over https, and nothing else.
  expect([...elsewhere]).toEqual(['https://img.example'])
})

test('a name that turns the direction of writing turns nothing but itself', async () => {
  const { page, origin } = await open({})
  await goTo(page, origin, 'chips')
  const directions = `[...document.querySelectorAll('main .named > span:last-child')].map(
    (name) => getComputedStyle(name).unicodeBidi)`
  await expect.poll(() => page.evaluate(directions)).toEqual(['isolate', 'isolate', 'isolate'])
})

test('every screen says what to do where there is nothing yet', async () => {
  const empty = await spawnDaemon(['--ephemeral', '--port', '0'], { TAPCHIP_ADMIN_TOKEN: rootToken })
  onTestFinished(() => void empty.stop())
  const { origin, link } = await startConsole(environmentOf(empty))
  const { page, complaints } = await openConsole({ link }, browser)
  for (const name of ['now', 'chips', 'batches', 'events', 'chain', 'webhooks', 'table', 'look'] as const) {
    await page.goto(`${origin}${screens[name][0]}`)
    await page.locator(`main[data-screen=${name}] .empty`).first().waitFor()
    expect([name, await audit(page)]).toEqual([name, []])
  }
  expect(complaints).toEqual([])
})

test('a wall screen of twice the size shows the same, twice as large, without scrolling', async () => {
  const { page, origin } = await open({ viewport: { width: 1920, height: 1080 } })
  const row = page.locator('main[data-screen=now] tbody tr[data-index]').first()
  const sizes: unknown[] = []
  for (const scale of [1, 2]) {
    await page.setViewportSize({ width: 1920 * scale, height: 1080 * scale })
    await page.goto(`${origin}/now?wall`)
    await row.waitFor()
    const { height = 0, width = 0 } = (await row.boundingBox()) ?? {}
    const whole = await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.scrollHeight]',
    )
    expect(whole).toEqual([1920 * scale, 1080 * scale])
    sizes.push([height / scale, Math.round(width / scale)])
  }
  expect(sizes[1]).toEqual(sizes[0])
})

test('each state of the tap page has a German name', async () => {
  const { page, origin } = await open({ locale: 'de-DE' })
  await goTo(page, origin, 'look')
  const options = page.getByLabel('Zustand').locator('option')
  await expect.poll(() => options.count()).toBeGreaterThan(40)
  const named = await options.evaluateAll((all) =>
    all.map((one) => [one.getAttribute('value') ?? '', one.textContent ?? '']),
  )
  const english = named.filter(([value = '', text = '']) => text.toLowerCase() === value.replaceAll('-', ' '))
  expect(english.map(([value]) => value)).toEqual(['badge', 'video'])
})

test('a chip is found by the beginning of its label, by a German', async () => {
  const { page, origin } = await open({ locale: 'de-DE' })
  await goTo(page, origin, 'chips')
  const rows = page.locator('main[data-screen=chips] tbody tr[data-index]')
  await page.getByRole('searchbox', { name: 'Suche nach Label' }).fill('Löwe')
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('Löwe-1')])
  await page.getByRole('searchbox').fill('LÖWE')
  await page.getByText('Kein Chip passt').waitFor()
})

test('on a desktop the link is opened by a file that only we can read, and that goes with the console', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-console-home-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const opener = join(home, 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$*" > "${home}/new" && mv "${home}/new" "${home}/opened"\n`)
  chmodSync(opener, 0o755)
  let given = ''
  const look = async () => {
    await expect.poll(() => existsSync(join(home, 'opened'))).toBe(true)
    given = readFileSync(join(home, 'opened'), 'utf8')
    expect(given).toMatch(/^file:\/\/\/\S+\.html$/)
    expect(statSync(fileURLToPath(given)).mode & 0o777).toBe(0o600)
    const page = await browser.newPage()
    await page.goto(given)
    await page.locator('main[data-screen=now]').waitFor()
    await page.context().close()
    return '\u0003'
  }
  const env = { ...environmentOf(daemon), HOME: home, DISPLAY: ':0', PATH: `${home}:${process.env.PATH}` }
  const { screen } = await onTerminal('console --port 0', [[/Press Enter for another one/, look]], env)
  expect(screen).not.toContain('No browser')
  expect(existsSync(fileURLToPath(given))).toBe(false)
})

test('without a desktop it says how the link works from another machine', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-console-home-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const env = {
    ...environmentOf(daemon),
    HOME: home,
    DISPLAY: ':0',
    SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22',
  }
  const { screen } = await onTerminal('console --port 0', [[/Press Enter for another one/, '\u0003']], env)
  expect(screen).toMatch(/http:\/\/127\.0\.0\.1:(\d+)\/open[\s\S]*ssh -N -L \1:127\.0\.0\.1:\1 THIS-MACHINE/)
})
