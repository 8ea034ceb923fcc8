import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminToken, testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'

let p: Phygitals
const clock = testClock()
beforeAll(async () => {
  const env = { TAPCHIP_EXPLORER_31337: 'https://explorer.example/' }
  p = await openPhygitals({ clock, env })
})
afterAll(() => p.close())

const claim = { kind: 'claim', recipient: bob }

describe('a tap page ends', () => {
  test('with its chip: switched off it says so, and once it is on again the tap is over', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(1), 1)
    const admin = (what: string) =>
      p.app.inject({
        method: 'POST',
        url: `/admin/chips/${BigInt(`0x${chips.jacket(1)}`)}/${what}`,
        headers: { authorization: `Bearer ${adminToken}` },
        payload: {},
      })
    expect((await admin('disable')).statusCode).toBe(200)
    const off = await browser.load(page.parameters)
    const once = [off.answer.statusCode, off.answer.body.includes('switched off')]
    expect(once).toEqual([404, true])
    expect(await browser.press(page, claim)).toMatchObject({ status: 404, body: { code: 'tap_disabled' } })
    expect((await browser.submit(page, claim)).body).toContain('switched off')
    expect((await browser.tap(chips.jacket(1), 2)).answer.statusCode).toBe(404)
    await admin('enable')
    expect(await browser.press(page, claim)).toMatchObject({ status: 410, body: { code: 'tap_expired' } })
    const form = await browser.submit(page, claim)
    expect([form.statusCode, form.headers['content-type']]).toEqual([410, 'text/html; charset=utf-8'])
    expect((await browser.post('/t/live', { ref: page.ref })).statusCode).toBe(410)
  })

  test('with the token: a claim by key or by another tap ends the claims of earlier taps, pressed or not', async () => {
    const browser = new Browser(p)
    const [tried, untried] = [await browser.tap(chips.jacket(2), 1), await browser.tap(chips.jacket(2), 2)]
    const asApp = await browser.tap(chips.jacket(2), 3)
    await browser.press(tried, { kind: 'claim', recipient: 'nobody' })
    const sent = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 2), recipient: carol },
      { key: acmeKey },
    )
    expect(sent.status).toBe(200)
    for (const page of [tried, untried]) {
      expect(await browser.states(page)).toEqual({ 'claim-0': { is: 'closed', reason: 'claimed' } })
      expect((await browser.press(page, claim)).status).toBe(401)
    }
    const ref = (await p.ask(`/refs/${asApp.ref}`)).body
    expect([ref.isValidRef, ref.linkedToken.otp]).toEqual([true, undefined])
    const [old, fresh] = [await browser.tap(chips.jacket(2), 4), await browser.tap(chips.jacket(2), 5)]
    expect((await browser.press(fresh, claim)).status).toBe(200)
    expect((await browser.press(old, { kind: 'claim', recipient: carol })).status).toBe(401)
    expect(await p.owner('JKT', 2)).toBe(getAddress(bob))
    // So it is where the first claim mints the token.
    const [before, mint] = [await browser.tap(chips.unminted(1), 1), await browser.tap(chips.unminted(1), 2)]
    expect((await browser.press(mint, claim)).status).toBe(200)
    expect((await browser.press(before, { kind: 'claim', recipient: carol })).status).toBe(401)
  })

  test('with its time: a ref and codes have theirs, and a page that may be loaded still shows what it can', async () => {
    const browser = new Browser(p)
    const [late, used] = [await browser.tap(chips.jacket(3), 1), await browser.tap(chips.jacket(4), 1)]
    clock.advance('20m')
    await browser.press(used, { kind: 'claim', recipient: 'nobody' })
    clock.advance('15m')
    expect(await browser.states(late)).toEqual({ 'claim-0': { is: 'closed', reason: 'expired' } })
    expect(await browser.press(late, claim)).toMatchObject({ status: 401 })
    const shown = await browser.load(late.parameters)
    expect([shown.answer.statusCode, shown.answer.body.includes('Jacket #3')]).toEqual([200, true])
    expect(shown.answer.body).not.toContain('<form')
    expect(await browser.press(used, claim)).toMatchObject({ status: 200 })
    clock.advance('30m')
    for (const page of [late, used]) {
      expect((await browser.load(page.parameters)).answer.statusCode).toBe(410)
      expect((await browser.post('/t/act', { ref: page.ref, ...claim, id: '0' })).statusCode).toBe(410)
    }
  })

  test('later than usual where somebody registered for longer: the first page is there for the second tap', async () => {
    await p.ctx.db.write((trx) =>
      trx.updateTable('contracts').set({ twoTapDelaySeconds: 7200 }).where('symbol', '=', 'ART').execute(),
    )
    const browser = new Browser(p)
    const first = await browser.tap(chips.art(1), 1)
    const { answer } = await browser.press(first, { kind: 'register', recipient: bob })
    expect(String(answer.headers['set-cookie'])).toContain(`Max-Age=${7200 + 600};`)
    clock.advance('2h')
    expect((await browser.load(first.parameters)).answer.statusCode).toBe(200)
    const second = await browser.tap(chips.art(1), 2)
    expect(await browser.states(second)).toMatchObject({
      'claim-0': { is: 'registered', recipient: getAddress(bob), isSameTap: false },
    })
    // Whoever has no cookie tells the rule, which knows.
    expect(await new Browser(p).press(second, claim)).toMatchObject({ status: 200 })
    expect(await p.owner('ART', 1)).toBe(getAddress(bob))
  })
})

test('an item without a contract offers no claim', async () => {
  const browser = new Browser(p)
  expect(await browser.states(await browser.tap(chips.unminted(9), 1))).toEqual({})
})

test('a chip that is linked after its tap gives a code for its token, as a ref that is queried then does', async () => {
  const browser = new Browser(p)
  const [page, other] = [await browser.tap(chips.unminted(9), 2), await browser.tap(chips.unminted(9), 3)]
  const linked = await p.app.inject({
    method: 'POST',
    url: `/admin/chips/${BigInt(`0x${chips.unminted(9)}`)}/link`,
    headers: { authorization: `Bearer ${adminToken}` },
    payload: { token: { ...p.token('JKT', 14), tokenId: 14 } },
  })
  expect(linked.statusCode).toBe(200)
  expect((await p.ask(`/refs/${other.ref}`)).body.linkedToken.otp).toMatch(/^[\w-]{21}$/)
  expect(await browser.states(page)).toEqual({ 'claim-0': { is: 'open' } })
})

test('what the page does not offer uses up neither its ref nor a code', async () => {
  const browser = new Browser(p)
  const page = await browser.tap(chips.jacket(13), 1)
  for (const [kind, id] of [
    ['register', 0],
    ['claim', 7],
    ['badge', 1],
    ['guestbook', 1],
  ] as const)
    expect((await browser.press(page, { kind, id, recipient: bob })).status).toBe(401)
  const check = { ref: page.ref, kind: 'guestbook', id: '1', recipient: bob }
  expect((await browser.post('/t/check', check)).json()).toMatchObject({ isGood: false })
  expect((await p.ask(`/refs/${page.ref}`)).body.isValidRef).toBe(true)
  // A query that no chip shows does not come back in every form.
  const odd = await browser.load({ ...page.parameters, x: '"><script>' })
  expect(odd.answer.body).not.toMatch(/"><script|name="tap" value="[^"]*script/)
})

test('a browser keeps sixteen taps: the oldest gives way, and the others go on', async () => {
  const browser = new Browser(p)
  const pages = []
  for (const n of Array.from({ length: 18 }, (_, index) => index))
    pages.push(await browser.tap(chips.jacket(3 + (n % 9)), 10 + n))
  expect(browser.cookies.size).toBe(16)
  const statuses = []
  for (const page of pages) statuses.push((await browser.load(page.parameters)).answer.statusCode)
  expect(statuses).toEqual([410, 410, ...Array.from({ length: 16 }, () => 200)])
})

test('what a page does is on record as a code does it, and its transaction is linked to the explorer', async () => {
  const browser = new Browser(p)
  const page = await browser.tap(chips.jacket(12), 1)
  await browser.press(page, claim)
  await p.settled()
  const entry = await p.ctx.db.read
    .selectFrom('audit')
    .selectAll()
    .orderBy('id', 'desc')
    .where('action', '=', 'phygitals.transfer')
    .executeTakeFirstOrThrow()
  expect(entry).toMatchObject({ actor: 'code', requestId: expect.any(String) })
  const { 'claim-0': state } = await browser.states(page)
  const hash = state?.is === 'confirmed' ? state.transaction?.hash : undefined
  expect(state).toMatchObject({ transaction: { url: `https://explorer.example/tx/${hash}` } })
  const { body } = (await browser.load(page.parameters)).answer
  expect(body).toContain(`https://explorer.example/tx/${hash}`)
  // Neither a code nor the ref stands anywhere that others read.
  const codes = await p.ctx.db.read.selectFrom('idempotencyKeys').selectAll().execute()
  expect(JSON.stringify([entry, codes])).not.toContain(page.ref)
})
