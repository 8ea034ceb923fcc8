import { type Address, getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { testClock } from '../support/daemon.ts'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { keep, sendForm, show } from '../support/reservations.ts'
import { acmeKey } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'
import { somebodyOn } from '../support/wallet.ts'

// What ends a reservation before its time, and who is told what.

let server: TestMailServer
let p: Phygitals
const clock = testClock()

beforeAll(async () => {
  server = await startMailServer()
  const env = { TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'tags@acme.example' }
  p = await openPhygitals({ clock, seed: phygitalSeed, env })
  await p.settled()
})
afterAll(async () => {
  await p.close()
  await server.stop()
})

const keptOn = async (uid: string, email: string, counter = 1) => {
  const browser = new Browser(p)
  return keep(server, browser, await browser.tap(uid, counter), email)
}
const stateOn = async (uid: string, counter: number) => {
  const browser = new Browser(p)
  return (await browser.states(await browser.tap(uid, counter)))['claim-0']
}
const listed = async () => (await p.ask('/admin/reservations', undefined, { headers: p.admin })).body
const idOf = async (uid: string): Promise<number> =>
  (await listed()).find((one: { uid: string }) => one.uid === BigInt(`0x${uid}`).toString())?.id
const linkSays = async (path: string, status: number) => {
  const answer = await p.app.inject({ url: path })
  expect(answer.statusCode).toBe(status)
  return answer.body
}
const ended = 'no longer kept for you'

describe('the team', () => {
  test('sees what is kept, never for whom, and releases it: the link ends, and others can claim', async () => {
    const uid = chips.jacket(1)
    const path = await keptOn(uid, 'Private.Person@Example.org')
    const rows = await listed()
    expect(rows).toMatchObject([{ team: 'Acme', claim: true, left: 1, mail: 'sent' }])
    expect(JSON.stringify(rows).toLowerCase()).not.toMatch(/private|example\.org|@/)
    const one = rows[0].id
    const release = (id: number) =>
      p.ask(`/admin/reservations/${id}`, undefined, { method: 'DELETE', headers: p.admin })
    const ten = await Promise.all(Array.from({ length: 10 }, () => release(one)))
    expect(ten.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)])
    expect(await linkSays(path, 410)).toContain(ended)
    expect(await new Browser(p).post(path, { recipient: bob })).toMatchObject({ statusCode: 410 })
    expect(await stateOn(uid, 2)).toEqual({ is: 'open' })
    const row = await p.ctx.db.read
      .selectFrom('reservations')
      .selectAll()
      .where('tapId', '=', one)
      .executeTakeFirst()
    expect(row).toMatchObject({ state: 'ended', address: null, addressHash: null })
    const { body: changes } = await p.ask('/admin/audit?action=reservations.release', undefined, {
      headers: p.admin,
    })
    expect(changes).toMatchObject([{ detail: { tap: one } }])
    expect(JSON.stringify(changes)).not.toContain('xample')
  })

  test('transfers the token: it is free, and the link says so', async () => {
    const uid = chips.jacket(2)
    const path = await keptOn(uid, 'second@example.org')
    const moved = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 2), recipient: carol },
      { key: acmeKey },
    )
    expect(moved.status).toBe(200)
    await p.settled()
    expect(await stateOn(uid, 2)).toEqual({ is: 'open' })
    expect(await linkSays(path, 410)).toContain('it has a new owner')
    clock.advance('1h')
    await cleanUp(p.ctx)
    expect(await linkSays(path, 410)).toContain(ended)
  })
})

/** What the team signed before it was kept; anybody can submit it. */
async function signed(n: number, recipient: Address): Promise<{ signature: Hex; blockExpiry: string }> {
  const query = new URLSearchParams({ ...p.token('JKT', n), chainId: '31337', recipient })
  const ask = () => p.ask(`/phygitals/transfer-signature?${query}`, undefined, { key: acmeKey })
  // Beside a block that is being mined, anvil may have no state for a moment: 503, and nothing is used up.
  return vi.waitFor(async () => {
    const { status, body } = await ask()
    expect({ status, body }).toMatchObject({ status: 200 })
    return body
  }, 30_000)
}

async function submit(
  n: number,
  to: Address,
  { signature, blockExpiry }: Awaited<ReturnType<typeof signed>>,
) {
  const somebody = await somebodyOn(p)
  const hash = await somebody.writeContract({
    abi: phygitalAbi,
    address: p.addressOf('JKT'),
    functionName: 'claimNFT',
    args: [signature, BigInt(blockExpiry), to, BigInt(n)],
  })
  await minedReceipt(somebody, hash)
}

describe('the token moves on its chain, with nobody here doing it', () => {
  test('the new owner is locked out by nothing, and the link takes nothing from them', async () => {
    const uid = chips.jacket(3)
    const before = await signed(3, bob)
    const path = await keptOn(uid, 'third@example.org')
    expect(await stateOn(uid, 2)).toEqual({ is: 'closed', reason: 'kept' })
    await submit(3, bob, before)
    expect(await p.owner('JKT', 3)).toBe(getAddress(bob))
    const answer = await new Browser(p).post(path, { recipient: carol })
    expect(answer.statusCode).toBe(410)
    expect(answer.body).toContain('it has a new owner')
    expect(await stateOn(uid, 3)).toEqual({ is: 'open' })
  })

  test('a code of a tap finds it out by itself', async () => {
    const uid = chips.jacket(4)
    const before = await signed(4, bob)
    await keptOn(uid, 'fourth@example.org', 50)
    const browser = new Browser(p)
    const page = await browser.tap(uid, 51)
    expect(await browser.press(page, { kind: 'claim', recipient: carol })).toMatchObject({ status: 409 })
    await submit(4, bob, before)
    expect(await browser.press(page, { kind: 'claim', recipient: carol })).toMatchObject({ status: 200 })
    expect(await p.owner('JKT', 4)).toBe(getAddress(carol))
  })
})

describe('a piece that somebody claimed before', () => {
  test('can be kept, and locks nobody out: who taps it and names a wallet goes first', async () => {
    const uid = chips.unminted(2)
    const first = new Browser(p)
    const claimed = await first.press(await first.tap(uid, 1), { kind: 'claim', recipient: bob })
    expect(claimed.status).toBe(200)
    await p.settled()
    const second = new Browser(p)
    const page = await second.tap(uid, 2)
    expect(await show(second, page)).toContain('goes first')
    const path = await keep(server, second, page, 'guest@example.org')
    expect(await show(second, page)).toContain('goes first')
    const third = new Browser(p)
    const later = await third.tap(uid, 3)
    expect(await third.states(later)).toMatchObject({ 'claim-0': { is: 'open' } })
    expect(await third.press(later, { kind: 'claim', recipient: carol })).toMatchObject({ status: 200 })
    await p.settled()
    expect(await new Browser(p).post(path, { recipient: bob })).not.toMatchObject({ statusCode: 303 })
    clock.advance('1h')
    await cleanUp(p.ctx)
    expect(await linkSays(path, 410)).toContain(ended)
  })
})

test('with two taps, the link registers the wallet, and a tap claims', async () => {
  const uid = chips.art(1)
  const browser = new Browser(p)
  const page = await browser.tap(uid, 1)
  const path = await keep(server, browser, page, 'two@example.org')
  expect(await idOf(uid)).toBeTypeOf('number')
  expect(await browser.post(path, { recipient: bob })).toMatchObject({ statusCode: 303 })
  expect(await linkSays(path, 200)).toContain('data-state="confirmed"')
  clock.advance('2m')
  const again = await browser.tap(uid, 2)
  expect(await browser.press(again, { kind: 'claim', recipient: bob })).toMatchObject({ status: 200 })
  expect(await p.owner('ART', 1)).toBe(getAddress(bob))
})

test('a later tap and the same address give a new link, and the one before ends', async () => {
  const uid = chips.jacket(6)
  const path = await keptOn(uid, 'again@example.org')
  const browser = new Browser(p)
  const page = await browser.tap(uid, 2)
  const before = server.mails().length
  const stranger = await sendForm(browser, page, { email: 'nobody.else@example.org', link: '1' })
  const own = await sendForm(browser, page, { email: 'again@example.org', link: '1' })
  for (const { statusCode, body } of [stranger, own]) {
    expect(statusCode).toBe(200)
    expect(body).toContain('If it is kept for this address')
  }
  const { text } = await server.newest(before + 1)
  expect(server.mails()).toHaveLength(before + 1)
  expect(await linkSays(path, 404)).toContain('no longer good')
  expect(await linkSays(/\/t\/keep\/[\w-]{32}/.exec(text)?.[0] ?? '', 200)).toContain('name="recipient"')
})

test('a tap that is stored no longer, since taps are kept for less time now, holds nothing any more', async () => {
  const uid = chips.jacket(7)
  const path = await keptOn(uid, 'short@example.org')
  clock.advance('3d')
  expect(await stateOn(uid, 2)).toEqual({ is: 'closed', reason: 'kept' })
  await deleteOld({ ...p.ctx, config: { ...p.ctx.config, keepTapsDays: 1 } })
  expect(await linkSays(path, 410)).toContain(ended)
  await cleanUp(p.ctx)
  expect(await stateOn(uid, 3)).toEqual({ is: 'open' })
})
