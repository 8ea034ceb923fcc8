import { createServer } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { bearer } from '../support/admin.ts'
import { openBrowser } from '../support/browser.ts'
import { ask, enter, openConsole, startConsole } from '../support/console.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

let d: TestDaemon
let browser: Browser
beforeAll(async () => {
  d = await startTestDaemon({ seed })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await d.stop()
})

const consoleAt = (url: string, token = d.adminToken) =>
  startConsole({ TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: token })

/** As the browser does when another tab comes before it. */
const see = (page: Page, state: 'visible' | 'hidden') =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)

test('more windows than a browser has connections all work, and those without news say so', async () => {
  const console = await consoleAt(d.url)
  const { page: first } = await openConsole(console, browser)
  const crowded = (page: Page) => page.getByText('Too many windows').count()
  const open = async () => {
    const page = await first.context().newPage()
    await page.goto(`${console.origin}/chips`)
    await page.locator('main[data-screen=chips] tbody tr[data-index]').first().waitFor()
    return page
  }
  const others: Page[] = []
  for (let n = 0; n < 7; n += 1) others.push(await open())
  const all = [first, ...others]
  const counts = async () => (await Promise.all(all.map(crowded))).reduce((sum, count) => sum + count, 0)
  await expect.poll(counts).toBe(4)
  // Tabs that nobody sees leave their room to the others.
  for (const page of others.slice(3)) await see(page, 'visible')
  for (const page of [first, ...others.slice(0, 3)]) await see(page, 'hidden')
  await expect.poll(counts).toBe(0)
})

test('without a page that somebody sees, the daemon is asked nothing, and nothing is missed or told twice', async () => {
  const proxy = await startTcpProxy(Number(new URL(d.url).port))
  onTestFinished(() => proxy.close())
  const follows: string[] = []
  proxy.judge = (bytes) => {
    const [line = ''] = bytes.toString('latin1').split('\r\n')
    if (line.includes('/events/follow')) follows.push(line)
    return 'pass'
  }
  const console = await consoleAt(`http://127.0.0.1:${proxy.port}`)
  const { page } = await openConsole(console, browser)
  const rows = page.locator('main[data-screen=now] tbody tr[data-index]')
  const tapAt = (counter: number) =>
    fetch(d.url + tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find'))
  await tapAt(1)
  await expect.poll(() => rows.count()).toBe(1)
  expect(follows).toHaveLength(1)
  await see(page, 'hidden')
  await tapAt(2)
  await see(page, 'visible')
  await expect.poll(() => rows.count()).toBe(2)
  await tapAt(3)
  await expect.poll(() => rows.count()).toBe(3)
  // It went on where it was, though no connection broke.
  expect(follows).toEqual([expect.anything(), expect.stringMatching(/after=\d/)])
})

test('a made-up link ends no session, and a mistyped address leaves no empty page', async () => {
  const console = await consoleAt(d.url)
  const { page } = await openConsole(console, browser)
  const other = await page.context().newPage()
  await other.goto(`${console.origin}/now#session=made-up`)
  await other.locator('main[data-screen=now]').waitFor()
  expect(new URL(other.url()).hash).toBe('')
  await page.reload()
  await page.locator('main[data-screen=now]').waitFor()
  await other.goto(`${console.origin}/chips/%E0%A4%A`)
  await other.locator('main[data-screen=chip]').waitFor()
})

test("a page elsewhere cannot lead through the console to a third one's", async () => {
  const console = await consoleAt(d.url)
  const headers = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  expect((await ask(`${console.origin}/now?team=Acme`, headers)).text).toContain('url=/now?team=Acme')
  const led = await ask(`${console.origin}//a//elsewhere.example/x`, headers)
  expect([led.status, led.text]).toEqual([401, expect.not.stringContaining('elsewhere')])
})

test('a credential that is revoked is named on open pages, with what to do', async () => {
  const made = await fetch(`${d.url}/admin/admin-tokens`, {
    method: 'POST',
    headers: { ...bearer(d.adminToken), 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'wall', scopes: ['read'] }),
  })
  const { id, token } = JSON.parse(await made.text())
  const console = await consoleAt(d.url, token)
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/chips`)
  await page.locator('main[data-screen=chips] tbody tr[data-index]').first().waitFor()
  await fetch(`${d.url}/admin/admin-tokens/${id}`, { method: 'DELETE', headers: bearer(d.adminToken) })
  const said = page.locator('[data-away]')
  await said.filter({ hasText: /"wall" was revoked.*tapchip login/ }).waitFor()
})

test('a daemon that is none sets no cookie, redirects nobody, and ends nothing', async () => {
  const elsewhere = { location: 'https://elsewhere.example/', 'set-cookie': 'a=b' }
  const fake = createServer(({ url = '' }, response) => {
    const type = (name: string) => response.writeHead(200, { ...elsewhere, 'content-type': name })
    if (url.startsWith('/admin/events/follow'))
      type('application/x-ndjson').write('{"later":[]}\n{"changed":["chips"]}\n')
    else if (url.startsWith('/admin/teams')) response.writeHead(302, elsewhere).end()
    else type('text/html').end('<script>alert(1)</script>')
  })
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    fake.close().closeAllConnections()
  })
  const address = fake.address()
  const console = await consoleAt(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
  const headers = await enter(console.link)
  const get = (path: string) => ask(console.origin + path, headers)
  for (const [path, status] of [
    ['/api/admin/teams', 502],
    ['/api/admin/chips', 502],
    ['/session', 200],
    ['/diagnosis', 200],
  ] as const) {
    const answer = await get(path)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.text).not.toContain('<script>')
    if (status === 502) expect(answer.text).toMatch(/not a Tapchip daemon/)
    expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
    expect(answer.headers['content-security-policy']).toMatch(/script-src 'self';/)
    expect(Object.keys(answer.headers)).not.toContain('set-cookie')
    expect(Object.keys(answer.headers)).not.toContain('location')
  }
  const { problem } = JSON.parse((await get('/session')).text)
  expect(problem.message).toMatch(/./)
  const stream = await fetch(`${console.origin}/stream`, { headers })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  let told = ''
  while (!told.includes('chips')) told += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  expect(told.split('\n').filter(Boolean)).toEqual(['{"away":null}', '{"changed":["chips"]}'])
})
