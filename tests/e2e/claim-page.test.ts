import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { tap, tapPath } from '../support/taps.ts'

// The example app as a person meets it: a phone that taps, twice, and a page.

const folder = resolve(import.meta.dirname, '../../examples/claim-page')
const seed = JSON.parse(readFileSync(join(folder, 'seed.json'), 'utf8'))
const [team] = seed.teams
const [chip] = team.chipGroups[0].chips
const bram = seed.names['bram.eth']

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let app: { url: string; end(): Promise<unknown> }
let phones: Phones
let page: Page

async function startApp(tapchip: string) {
  const child = spawn(process.execPath, [join(folder, 'server.mjs')], {
    env: { ...process.env, TAPCHIP_URL: tapchip, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  const exited = once(child, 'exit')
  const end = () => {
    child.kill()
    return exited
  }
  return { url: String(line).trim(), end }
}

beforeAll(async () => {
  const contracts = [{ ...team.contracts[0], twoTap: { delaySeconds: 0, windowSeconds: 3600 } }]
  const opened = openPhones()
  daemon = await startTestDaemon({ seed: { ...seed, teams: [{ ...team, contracts }] }, chain: true })
  app = await startApp(daemon.url)
  phones = await opened
  page = await (await phones.phone()).context.newPage()
  const answer = await fetch(`${daemon.url}/chips`, {
    method: 'PATCH',
    headers: { 'x-svc-api-key': team.apiKeys[0].key, 'content-type': 'application/json' },
    body: JSON.stringify({ tagUIDs: [chip.uid], updates: { redirectUrl: `${app.url}/tap` } }),
  })
  expect(answer.status).toBe(200)
})
afterAll(() => Promise.all([phones?.close(), app?.end(), daemon?.stop()]))

let counter = 0
const tapUrl = () => daemon.url + tapPath(tap(seed.keySets[0], { uid: chip.uid }, ++counter))

/** What the page says: its address and words, and how far each action is. */
const seen = () =>
  page.evaluate(`({
    at: location.href,
    says: document.querySelector('#greeting')?.textContent,
    ...Object.fromEntries([...document.querySelectorAll('[data-action]')].map((section) => [
      section.dataset.action,
      section.hidden ? 'hidden' : section.querySelector('[role=status]').dataset.state ?? 'offered',
    ])),
  })`)
const press = (action: string) => page.locator(`[data-action=${action}] button`).tap()
const wordsOf = (action: string) => page.locator(`[data-action=${action}] [role=status]`).textContent()
const look = async (name: string) => {
  const to = process.env.TAPCHIP_SCREENSHOTS
  if (!to) return
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(to, `${name}-${colorScheme}.png`), fullPage: true })
  }
}

test('from a tap to a token, a badge, and an entry in the guestbook', async () => {
  const home = `${app.url}/`
  const genuine = { at: home, says: 'It is genuine.' }
  await page.goto(tapUrl())
  await expect.poll(seen).toEqual({ ...genuine, claim: 'offered', badge: 'offered', guestbook: 'offered' })
  await look('first-tap')

  // Nobody's name: said so, and nothing is used up.
  await page.fill('#recipient', 'nobody-here.eth')
  await press('claim')
  await expect.poll(() => wordsOf('claim')).toMatch(/no name that leads to one/)
  await page.fill('#recipient', 'bram.eth')
  await press('claim')
  await expect.poll(() => wordsOf('claim')).toMatch(/^Noted. Now tap the chip again/)
  await look('registered')

  await page.goto(tapUrl())
  await expect.poll(() => wordsOf('claim').catch(() => '')).toMatch(/second tap/)
  for (const action of ['claim', 'badge', 'guestbook']) await press(action)
  const all = { ...genuine, claim: 'confirmed', badge: 'confirmed', guestbook: 'confirmed' }
  await expect.poll(seen).toEqual(all)
  await look('done')
  const [{ address }] = (await daemon.ctx.db.read
    .selectFrom('contracts')
    .select('address')
    .where('symbol', '=', 'FJELL')
    .execute()) as [{ address: `0x${string}` }]
  expect(await ownerOf(daemon.ctx.chains.get(31337).client, address, 1n)).toBe(bram)

  // Loaded again, and gone back to, it says the same.
  await page.goto(home)
  await expect.poll(seen).toEqual(all)
})

test('a ref that somebody else used, and a page that nobody tapped for, say what to do', async () => {
  const { headers } = await fetch(tapUrl(), { redirect: 'manual' })
  const landing = headers.get('location') ?? ''
  // A guess of the browser uses nothing up.
  expect((await fetch(landing, { headers: { 'sec-purpose': 'prefetch' } })).status).toBe(503)
  const first = await fetch(landing, { redirect: 'manual' })
  expect([first.status, first.headers.get('location')]).toEqual([303, '/'])
  await page.goto(landing)
  await expect.poll(seen).toMatchObject({ says: 'This tap was used before. Tap the chip again.' })

  const stranger = await (await fetch(`${app.url}/visit`)).json()
  expect(stranger).toEqual({ results: {}, token: null, badge: null, guestbook: false })
  const acted = await fetch(`${app.url}/actions/claim`, { method: 'POST', body: '{"recipient":"bram.eth"}' })
  expect([acted.status, await acted.json()]).toMatchObject([409, { code: 'no_tap' }])
})
