import { request as httpRequest } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { chips, startTapPages, type TapPages } from '../support/tap-page.ts'

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

interface Answered {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

/** A request with any headers, as a browser or a program could send it. */
const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<Answered>((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject).end()
  })

/** Both secrets of a session, as the browser of the link gets them. */
async function enter(link: string): Promise<Record<string, string>> {
  const { headers } = await ask(link)
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  return { cookie, 'x-console-session': /#session=(.+)$/.exec(String(headers.location))?.[1] ?? '' }
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
  const api = `${console.origin}/api/admin/taps`
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
  for (const path of ['/api/admin/taps', '/stream', '/session'])
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
