import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { openBrowser } from '../support/driven-browser.ts'
import { tap, tapPath } from '../support/taps.ts'

// The example app as a person meets it: a phone that taps, twice, and a page.

const folder = resolve(import.meta.dirname, '../../examples/claim-page')
const seed = JSON.parse(readFileSync(join(folder, 'seed.json'), 'utf8'))
const [team] = seed.teams
const [chip] = team.chipGroups[0].chips
const bram = seed.names['bram.eth']

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let app: { url: string; end(): Promise<unknown> }
let browser: Awaited<ReturnType<typeof openBrowser>>

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
  const opened = openBrowser()
  daemon = await startTestDaemon({ seed: { ...seed, teams: [{ ...team, contracts }] }, chain: true })
  app = await startApp(daemon.url)
  browser = await opened
  const answer = await fetch(`${daemon.url}/chips`, {
    method: 'PATCH',
    headers: { 'x-svc-api-key': team.apiKeys[0].key, 'content-type': 'application/json' },
    body: JSON.stringify({ tagUIDs: [chip.uid], updates: { redirectUrl: `${app.url}/tap` } }),
  })
  expect(answer.status).toBe(200)
})
afterAll(() => Promise.all([browser?.close(), app?.end(), daemon?.stop()]))

let counter = 0
const tapUrl = () => daemon.url + tapPath(tap(seed.keySets[0], { uid: chip.uid }, ++counter))

/** What the page says: its address and words, and how far each action is. */
const seen = () =>
  browser.evaluate(`({
    at: location.href,
    says: document.querySelector('#greeting')?.textContent,
    ...Object.fromEntries([...document.querySelectorAll('[data-action]')].map((section) => [
      section.dataset.action,
      section.hidden ? 'hidden' : section.querySelector('[role=status]').dataset.state ?? 'offered',
    ])),
  })`)
const press = (action: string) =>
  browser.evaluate(`document.querySelector('[data-action=${action}] button').click()`)
const wordsOf = (action: string) =>
  browser.evaluate(`document.querySelector('[data-action=${action}] [role=status]').textContent`)
const look = async (name: string) => {
  const to = process.env.TAPCHIP_SCREENSHOTS
  if (!to) return
  mkdirSync(to, { recursive: true })
  for (const scheme of ['light', 'dark'] as const)
    writeFileSync(join(to, `${name}-${scheme}.png`), await browser.screenshot({ scheme }))
}

test('from a tap to a token, a badge, and an entry in the guestbook', async () => {
  const home = `${app.url}/`
  const genuine = { at: home, says: 'It is genuine.' }
  await browser.goto(tapUrl())
  await expect.poll(seen).toEqual({ ...genuine, claim: 'offered', badge: 'offered', guestbook: 'offered' })
  await look('first-tap')

  // Nobody's name: said so, and nothing is used up.
  await browser.evaluate(`document.querySelector('#recipient').value = 'nobody-here.eth'`)
  await press('claim')
  await expect.poll(() => wordsOf('claim')).toMatch(/no name that leads to one/)
  await browser.evaluate(`document.querySelector('#recipient').value = 'bram.eth'`)
  await press('claim')
  await expect.poll(() => wordsOf('claim')).toMatch(/^Noted. Now tap the chip again/)
  await look('registered')

  await browser.goto(tapUrl())
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
  await browser.goto(home)
  await expect.poll(seen).toEqual(all)
})

test('a ref that somebody else used, and a page that nobody tapped for, say what to do', async () => {
  const { headers } = await fetch(tapUrl(), { redirect: 'manual' })
  const landing = headers.get('location') ?? ''
  // A guess of the browser uses nothing up.
  expect((await fetch(landing, { headers: { 'sec-purpose': 'prefetch' } })).status).toBe(503)
  const first = await fetch(landing, { redirect: 'manual' })
  expect([first.status, first.headers.get('location')]).toEqual([303, '/'])
  await browser.goto(landing)
  await expect.poll(seen).toMatchObject({ says: 'This tap was used before. Tap the chip again.' })

  const stranger = await (await fetch(`${app.url}/visit`)).json()
  expect(stranger).toEqual({ results: {}, token: null, badge: null, guestbook: false })
  const acted = await fetch(`${app.url}/actions/claim`, { method: 'POST', body: '{"recipient":"bram.eth"}' })
  expect([acted.status, await acted.json()]).toMatchObject([409, { code: 'no_tap' }])
})
