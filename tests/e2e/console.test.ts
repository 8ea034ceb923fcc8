import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { spawnCli } from '../support/cli-process.ts'
import { ask, enter, environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { chipUid } from '../support/phygitals.ts'
import { spawnDaemon } from '../support/process.ts'
import { derived } from '../support/seeds.ts'
import { chips, startTapPages, type TapPages } from '../support/tap-page.ts'
import { tap, tapPath } from '../support/taps.ts'

let daemon: TapPages
let browser: Browser
beforeAll(async () => {
  daemon = await startTapPages({ TAPCHIP_ADMIN_TOKEN: rootToken })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await daemon.stop()
})

const tapBy = async (uid: string) => {
  const url = daemon.tapUrl(uid)
  await fetch(url, { headers: { accept: 'text/html' } })
  return url
}

test('a link opens the console once, by a cookie of its port', async () => {
  const console = await startConsole(environmentOf(daemon))
  // Loading ahead, or asking without opening, uses nothing up.
  await ask(console.link, {}, 'HEAD')
  await ask(console.link, { 'sec-purpose': 'prefetch' })
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(console.link)))
  expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(410)])
  const [first] = answers.filter(({ status }) => status === 303)
  const port = new URL(console.origin).port
  expect(String(first?.headers['set-cookie'])).toMatch(
    new RegExp(`^tapchip-console-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
  )
  const [used] = answers.filter(({ status }) => status === 410)
  expect(used?.text).toMatch(/already used.*Press Enter/s)
  // Who presses it twice in the same browser is in already.
  const cookie = String(first?.headers['set-cookie']).split(';')[0] ?? ''
  expect(await ask(console.link, { cookie })).toMatchObject({ status: 303, headers: { location: '/now' } })
  const german = await ask(`${console.origin}/chips`, { 'accept-language': 'de-DE' })
  expect([german.status, german.text]).toEqual([401, expect.stringMatching(/Eingabetaste/)])
})

test('other hosts, origins and ports, and cookies alone, get nothing', async () => {
  const console = await startConsole(environmentOf(daemon))
  const session = await enter(console.link)
  const api = `${console.origin}/api/admin/taps/pulse`
  expect((await ask(api, session)).status).toBe(200)
  expect((await ask(api, { ...session, host: 'evil.example' })).status).toBe(421)
  expect(
    (await ask(api, { ...session, host: console.origin.replace('http://127.0.0.1', 'localhost') })).status,
  ).toBe(421)
  expect((await ask(api, { ...session, origin: 'https://evil.example' })).status).toBe(403)
  expect((await ask(api, { ...session, origin: 'null' })).status).toBe(403)
  // Another port of this machine is the same site.
  expect((await ask(api, { ...session, origin: 'http://127.0.0.1:1' })).status).toBe(403)
  expect(
    (await ask(api, { ...session, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' })).status,
  ).toBe(403)
  expect((await ask(`${console.origin}/now`, { ...session, 'sec-fetch-dest': 'iframe' })).status).toBe(405)
  for (const path of ['/api/admin/taps/pulse', '/stream', '/session'])
    for (const part of [
      {},
      { cookie: session.cookie ?? '' },
      { 'x-console-session': session['x-console-session'] ?? '' },
    ])
      expect((await ask(`${console.origin}${path}`, part)).status).toBe(401)
  const { headers } = await ask(`${console.origin}/now`, session)
  expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*/)
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
})

test('passes on what the screens ask and nothing else', async () => {
  const console = await startConsole(environmentOf(daemon))
  const session = await enter(console.link)
  const status = async (method: string, path: string) =>
    (await ask(`${console.origin}/api${path}`, { ...session, origin: console.origin }, method)).status
  expect(await status('GET', `/admin/chips/${chips.jacket(1)}`)).toBe(200)
  for (const [method, path] of [
    ['DELETE', `/admin/chips/${chips.jacket(1)}`],
    ['POST', '/admin/admin-tokens'],
    ['POST', '/admin/teams'],
    ['GET', '/admin/../healthz'],
    ['GET', '/admin/chips/..%2fteams'],
    ['GET', '/metrics'],
    ['GET', '//evil.example/admin/taps'],
  ] as const)
    expect([path, await status(method, path)]).toEqual([
      path,
      expect.toSatisfy((code) => code === 403 || code === 404 || code === 400),
    ])
})

test('shows taps as they come, and holds no key', async () => {
  const console = await startConsole(environmentOf(daemon))
  const { page, complaints } = await openConsole(console, browser)
  const bodies: Promise<string>[] = []
  page.on('response', (response) => {
    // It never ends.
    if (!response.url().includes('/stream')) bodies.push(response.text().catch(() => ''))
  })
  await expect.poll(() => page.url()).toBe(`${console.origin}/now`)
  await page.reload()
  const rows = page.locator('main[data-screen=now] tbody tr[data-index]')
  const before = await rows.count()
  const url = await tapBy(chips.jacket(1))
  await expect.poll(() => rows.first().innerText()).toMatch(/Valid/)
  await fetch(url, { headers: { accept: 'text/html' } })
  await expect.poll(() => rows.first().innerText()).toMatch(/Replayed/)
  expect(await rows.count()).toBeGreaterThanOrEqual(Math.min(before + 2, 10))
  expect(await audit(page)).toEqual([])
  const seen = [await page.content(), await page.evaluate('JSON.stringify({ ...localStorage })')]
  await page.goto(`${console.origin}/chips/${chips.jacket(1)}`)
  await page.getByRole('button', { name: 'Disable' }).waitFor()
  expect(await audit(page)).toEqual([])
  const text = [...seen, ...(await Promise.all(bodies))].join('\n')
  expect(text).toContain('data-screen')
  expect(text).not.toContain(rootToken)
  expect(complaints).toEqual([])
})

test('a chip is disabled and enabled after a question that names daemon and team', async () => {
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser)
  const uid = chips.jacket(5)
  await page.goto(`${console.origin}/chips/${uid}`)
  await page.getByRole('button', { name: 'Disable' }).click()
  const question = page.getByRole('dialog')
  expect(await question.innerText()).toContain(daemon.ready.url)
  expect(await question.innerText()).toContain('Acme')
  await question.getByLabel('Reason').fill('lost on the way')
  await question.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable' }).click()
  await expect.poll(() => page.locator('main').innerText()).toMatch(/lost on the way/)
  await question.waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => question.count()).toBe(0)
  await page.getByRole('button', { name: 'Enable' }).click()
  await question.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('button', { name: 'Disable' }).waitFor()
})

test.for([['SIGINT'], ['SIGTERM'], ['SIGHUP']] as const)('ends on %s', async ([signal]) => {
  const console = await startConsole(environmentOf(daemon))
  await openConsole(console, browser)
  console.child.kill(signal)
  expect(await console.ended).toBe(0)
})

test('taps go on after the daemon was killed: none is missed, and none comes twice', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-console-restart-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const seedFile = join(folder, 'seed.json')
  const uids = Array.from({ length: 4 }, (_, n) => chipUid(n + 1))
  const group = { name: 'All', chips: uids.map((uid, n) => ({ uid, keySet: 101, label: `Coat ${n + 1}` })) }
  writeFileSync(
    seedFile,
    JSON.stringify({ version: 1, keySets: [derived], teams: [{ name: 'Acme', chipGroups: [group] }] }),
  )
  // A daemon that is killed leaves its chain.
  const env = { TAPCHIP_ADMIN_TOKEN: rootToken, TAPCHIP_ADMIN: 'off', TAPCHIP_DEV_CHAIN: 'off' }
  const start = (port: string) =>
    spawnDaemon(['--data-dir', join(folder, 'data'), '--port', port, '--seed', seedFile], env)
  const first = await start('0')
  const { url } = first.ready
  let counter = 0
  const tapAll = async () => {
    counter += 1
    for (const uid of uids)
      await fetch(url + tapPath(tap(derived, { uid }, counter)), { headers: { accept: 'text/html' } })
  }
  const console = await startConsole({ TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: rootToken })
  const { page } = await openConsole(console, browser)
  const rows = page.locator('main[data-screen=now] tbody tr[data-index]')
  await tapAll()
  await expect.poll(() => rows.count()).toBe(4)
  // By their labels, which are looked up.
  await expect.poll(() => rows.first().innerText()).toMatch(/Coat 4/)
  await first.kill()
  await page.locator('[data-away]').waitFor()
  const second = await start(new URL(url).port)
  onTestFinished(() => second.kill())
  await tapAll()
  await expect.poll(() => rows.count()).toBe(8)
  await page.locator('[data-away]').waitFor({ state: 'detached' })
  await tapAll()
  await expect.poll(() => rows.count()).toBe(12)
})

test('chips are found by label, UID and item, and read by the keyboard alone', async () => {
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.goto(`${console.origin}/chips`)
  const search = page.getByRole('searchbox')
  const rows = page.locator('main[data-screen=chips] tbody tr[data-index]')
  await rows.first().waitFor()
  await search.fill('item:jacket')
  await expect.poll(() => rows.count()).toBe(3)
  expect(new URL(page.url()).searchParams.get('q')).toBe('item:jacket')
  const uid = chips.jacket(3)
  await search.fill(uid)
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining(uid)])
  await search.fill('nothing like it')
  await page.getByText('No chips match').waitFor()
  expect(await audit(page)).toEqual([])
  await search.fill('')
  await expect.poll(() => rows.count()).toBeGreaterThan(5)
  // From the search by Tab to the rows, then by arrows.
  await rows.first().locator('a').focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => page.evaluate('document.activeElement.closest("tr")?.dataset.index')).toBe('2')
  await page.keyboard.press('Enter')
  await page.locator('main[data-screen=chip]').waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
  await page.goBack()
  await rows.first().waitFor()
})

test('a key that may only read is shown no acts, and the server refuses them', async () => {
  const answer = await fetch(`${daemon.ready.admin}/admin/admin-tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'looks', scopes: ['read'], team: 'Acme' }),
  })
  const { token } = JSON.parse(await answer.text())
  const console = await startConsole(environmentOf(daemon, token))
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/chips/${chips.jacket(1)}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await page.getByRole('button', { name: 'Disable' }).count()).toBe(0)
  const status = await page.evaluate(`fetch('/api/admin/chips/${chips.jacket(1)}/disable', {
    method: 'POST', headers: { 'x-console-session': localStorage.getItem('tapchip-console-session') }
  }).then(({ status }) => status)`)
  expect(status).toBe(403)
})

test('in a protected context, an act takes its name', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-console-home-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, 'config') }
  const run = async (...args: string[]) => {
    const running = spawnCli(args, { ...env, TAPCHIP_ADMIN_TOKEN: rootToken }, home)
    expect([await running.ended, running.stderr()]).toEqual([0, expect.anything()])
  }
  mkdirSync(join(home, 'config', 'tapchip'), { recursive: true })
  const context = {
    url: daemon.ready.url,
    adminUrl: daemon.ready.admin,
    adminToken: rootToken,
    protected: true,
  }
  writeFileSync(
    join(home, 'config', 'tapchip', 'config.json'),
    JSON.stringify({ current: 'live', contexts: { live: context } }),
    { mode: 0o600 },
  )
  await run('context', 'show')
  const console = await startConsole(env)
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/chips/${chips.jacket(6)}`)
  await page.getByRole('button', { name: 'Disable' }).click()
  const question = page.getByRole('dialog')
  await question.getByRole('button', { name: 'Disable' }).click()
  await question.getByText('not the name').waitFor()
  await question.locator('input[name=confirm]').fill('live')
  await question.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  const status = await page.evaluate(`fetch('/api/admin/chips/${chips.jacket(6)}/enable', {
    method: 'POST', headers: { 'x-console-session': localStorage.getItem('tapchip-console-session') }
  }).then(({ status }) => status)`)
  expect(status).toBe(403)
})
