import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
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
/** Another jacket of the same team. */
const second = {
  ...chip,
  uid: '04DE5F1EACC041',
  token: {
    ...chip.token,
    tokenId: '2',
    metadata: { ...chip.token.metadata, name: 'Fjell Shell Jacket #2' },
  },
}

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let app: { url: string; end(): Promise<unknown> }
let gate: Awaited<ReturnType<typeof startGate>>
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

/** Stands before the daemon, and answers 503 in its place, as long as it is told to. */
async function startGate(tapchip: string) {
  const state = { isShut: false }
  const server = createServer((request, response) => {
    if (state.isShut) {
      const body = {
        statusCode: 503,
        error: 'Service Unavailable',
        code: 'chain_unavailable',
        message: 'Not now.',
      }
      response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    const { method, headers, url } = request
    const passed = forward(`${tapchip}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const end = () => {
    server.closeAllConnections()
    server.close()
  }
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end }
}

beforeAll(async () => {
  const contracts = [{ ...team.contracts[0], twoTap: { delaySeconds: 0, windowSeconds: 3600 } }]
  const opened = openPhones()
  const [group] = team.chipGroups
  const chipGroups = [{ ...group, chips: [chip, second] }]
  const [guestbook] = team.guestbookContracts
  const events = [{ ...guestbook.events[0], chips: [chip.uid, second.uid] }]
  const guestbookContracts = [{ ...guestbook, events }]
  const teams = [{ ...team, contracts, chipGroups, guestbookContracts }]
  daemon = await startTestDaemon({ seed: { ...seed, teams }, chain: true })
  gate = await startGate(daemon.url)
  app = await startApp(gate.url)
  phones = await opened
  page = await (await phones.phone()).context.newPage()
  const answer = await fetch(`${daemon.url}/chips`, {
    method: 'PATCH',
    headers: { 'x-svc-api-key': team.apiKeys[0].key, 'content-type': 'application/json' },
    body: JSON.stringify({ tagUIDs: [chip.uid, second.uid], updates: { redirectUrl: `${app.url}/tap` } }),
  })
  expect(answer.status).toBe(200)
})
afterAll(() => Promise.all([phones?.close(), app?.end(), daemon?.stop(), gate?.end()]))

let counter = 0
const tapUrl = (uid = chip.uid) => daemon.url + tapPath(tap(seed.keySets[0], { uid }, ++counter))

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

test('two jackets in one browser: what came of the one is not said of the other', async () => {
  const phone = await phones.phone()
  const [one, two] = [await phone.context.newPage(), await phone.context.newPage()]
  const button = (at: Page) => at.locator('[data-action=claim] button')
  const words = (at: Page) => at.locator('[data-action=claim] [role=status]')
  const claims = async (at: Page) => {
    await at.fill('#recipient', 'bram.eth')
    await button(at).tap()
  }
  // A press while the service is away, and one whose answer is lost: each can be made again, and has one effect.
  await two.goto(tapUrl(second.uid))
  gate.state.isShut = true
  await claims(two)
  await expect.poll(() => words(two).textContent()).toBe('Not now.')
  await expect.poll(() => two.evaluate("fetch('/visit').then(({ status }) => status)")).toBe(200)
  gate.state.isShut = false
  await two.route('**/actions/claim', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await button(two).tap()
  await expect.poll(() => words(two).textContent()).toMatch(/^We cannot be reached right now/)
  await two.unroute('**/actions/claim')
  await button(two).tap()
  await expect.poll(() => words(two).textContent()).toMatch(/^Noted/)

  await two.goto(tapUrl(second.uid))
  await button(two).tap()
  await expect.poll(() => words(two).textContent()).toBe('It is yours.')
  expect(await two.locator('h1').textContent()).toBe('Fjell Shell Jacket #2')

  await one.goto(tapUrl())
  await expect.poll(() => one.locator('h1').textContent()).toBe('Fjell Shell Jacket #1')
  expect([await words(one).textContent(), await button(one).isEnabled()]).toEqual(['', true])
  // The page that was left still acts for its own jacket; what was done there can be done again with a new tap alone.
  const acted = two.waitForResponse('**/actions/guestbook')
  await two.locator('[data-action=guestbook] button').tap()
  const { chip: of } = JSON.parse((await acted).request().postData() ?? '{}')
  expect(BigInt(of)).toBe(BigInt(`0x${second.uid}`))
  await one.reload()
  expect([await words(one).textContent(), await button(one).isEnabled()]).toEqual(['', true])
  await two.goto(tapUrl(second.uid))
  await expect.poll(() => words(two).textContent()).toBe('It is yours.')
  expect(await button(two).isEnabled()).toBe(true)
  await phone.close()
})

test('getRef of docs/apps.md keeps answers, and no failure, for each ref', async () => {
  const docs = readFileSync(resolve(folder, '../../docs/apps.md'), 'utf8')
  const code = /```js\n([^`]*export function getRef[\s\S]*?)```/.exec(docs)?.[1]?.replace('export ', '') ?? ''
  const phone = await phones.phone()
  const at = await phone.open(app.url)
  await at.addScriptTag({ content: `const TAPCHIP = '${daemon.url}'\n${code}` })
  const refOf = async (uid: string) => {
    const { headers } = await fetch(tapUrl(uid), { redirect: 'manual' })
    return new URL(headers.get('location') ?? '').searchParams.get('svcRef') ?? ''
  }
  const get = (ref: string) =>
    at.evaluate<string>(`getRef('${ref}').then(({ isValidRef }) => String(isValidRef), () => 'failed')`)
  const [first, other] = [await refOf(chip.uid), await refOf(second.uid)]
  // Away, then lost on the way there.
  for (const fault of [{ status: 503, body: '{"code":"store_unavailable"}' }, undefined]) {
    await at.route('**/refs/*', (route) =>
      fault ? route.fulfill({ ...fault, headers: { 'access-control-allow-origin': '*' } }) : route.abort(),
    )
    expect([await get(first), await get(other)]).toEqual(['failed', 'failed'])
    await at.unroute('**/refs/*')
  }
  for (const ref of [first, other]) expect([await get(ref), await get(ref)]).toEqual(['true', 'true'])
  await phone.close()
})
