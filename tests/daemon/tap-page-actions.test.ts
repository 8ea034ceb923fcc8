import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allSettled, testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, seed } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'

const guest = '04AA0000000180'
const [acme, other] = phygitalSeed.teams
const everything = {
  ...phygitalSeed,
  teams: [
    {
      ...acme,
      chipGroups: [...(acme?.chipGroups ?? []), { name: 'Guests', chips: [{ uid: guest, keySet: 101 }] }],
      guestbookContracts: seed.teams[0]?.guestbookContracts?.map((contract) => ({
        ...contract,
        events: contract.events.map((event) => ({ ...event, chips: [guest] })),
      })),
      badgeEvents: seed.teams[0]?.badgeEvents?.map((event) => ({ ...event, chips: [guest] })),
    },
    other,
  ],
}

let p: Phygitals
const clock = testClock()
beforeAll(async () => {
  p = await openPhygitals({ clock, seed: everything })
})
afterAll(() => p.close())

describe('what a tap page allows', () => {
  test('claims a token once, however often and in however many tabs the button is pressed', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(1), 1)
    expect(await browser.states(page)).toEqual({ 'claim-0': { is: 'open' } })
    const wrong = await browser.press(page, { kind: 'claim', recipient: 'nobody' })
    expect(wrong).toMatchObject({ status: 400, state: 'failed' })
    expect(wrong.html).toContain('nobody')
    const ten = await Promise.all(
      Array.from({ length: 10 }, () => browser.press(page, { kind: 'claim', recipient: ` ${bob} ` })),
    )
    for (const { status, state } of ten) {
      expect(status).toBe(200)
      expect(['pending', 'confirmed']).toContain(state)
    }
    expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
    const sent = (await p.transactions()).filter(({ kind }) => kind === 'phygital-transfer')
    expect(sent).toHaveLength(1)
    const later = await browser.press(page, { kind: 'claim', recipient: carol })
    expect(later).toMatchObject({ status: 409, state: 'confirmed' })
    expect(await browser.states(page)).toEqual({
      'claim-0': {
        is: 'confirmed',
        recipient: getAddress(bob),
        transaction: { hash: sent[0]?.minedHash, url: undefined },
      },
    })
  })

  test('mints the token of an item, signs a guestbook, and collects a badge, a device once', async () => {
    const browser = new Browser(p)
    const unminted = await browser.tap(chips.unminted(1), 1)
    expect((await browser.press(unminted, { kind: 'claim', recipient: carol })).status).toBe(200)
    const page = await browser.tap(guest, 1)
    const keys = Object.keys(await browser.states(page))
    const [active = 0, over = 0] = keys
      .filter((key) => key.startsWith('badge'))
      .map((key) => Number(key.slice(6)))
    const [book = 0] = keys.filter((key) => key.startsWith('guestbook')).map((key) => Number(key.slice(10)))
    const press = (kind: string, id: number, recipient: string) =>
      browser.press(page, { kind, id, recipient, deviceId: 'phone-1' })
    expect((await press('guestbook', book, 'bob.eth')).status).toBe(200)
    const badges = await Promise.all(Array.from({ length: 10 }, () => press('badge', active, bob)))
    expect(badges.map(({ status, state }) => ({ status, state }))).toEqual(
      Array.from({ length: 10 }, () => ({ status: 200, state: 'confirmed' })),
    )
    expect(await press('badge', over, bob)).toMatchObject({ status: 400, state: undefined })
    await allSettled(p.ctx)
    expect(await browser.states(page)).toMatchObject({
      [`badge-${active}`]: { is: 'confirmed', recipient: getAddress(bob) },
      [`badge-${over}`]: { is: 'closed', reason: 'over', date: '2025-01-03' },
      [`guestbook-${book}`]: { is: 'confirmed', recipient: getAddress(bob) },
    })
    const again = await browser.tap(guest, 2)
    const twice = { kind: 'badge', id: active, recipient: carol, deviceId: 'phone-1' }
    expect(await browser.press(again, twice)).toMatchObject({ status: 400, state: 'failed' })
    expect((await browser.states(unminted))['claim-0']).toMatchObject({ is: 'confirmed' })
  })

  test('works as a plain form: the browser that can load the page again is sent there', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(2), 1)
    const refused = await browser.submit(page, { kind: 'claim', recipient: '0x12' })
    expect(refused.statusCode).toBe(400)
    expect(refused.body).toContain('0x12')
    const pressed = await browser.submit(page, { kind: 'claim', recipient: bob })
    expect(pressed.statusCode).toBe(303)
    expect(pressed.headers.location).toBe(`/t?${page.query}#claim-0-status`)
    await p.settled()
    const again = await browser.load(page.parameters)
    expect(again.answer.statusCode).toBe(200)
    expect(again.answer.body).toContain('data-state="confirmed"')
    // Without cookies there is nothing to go back to, so the answer is the page.
    const bare = await new Browser(p).submit(page, { kind: 'claim', recipient: bob })
    expect(bare.statusCode).toBe(200)
    expect(bare.body).toContain('data-state="confirmed"')
  })

  test('a ref that an app has queried closes the page, and one that the page used is closed to apps', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(3), 1)
    await p.ask(`/refs/${page.ref}`)
    expect(await browser.states(page)).toEqual({ 'claim-0': { is: 'closed', reason: 'used' } })
    expect(await browser.press(page, { kind: 'claim', recipient: bob })).toMatchObject({ status: 401 })
    const second = await browser.tap(chips.jacket(3), 2)
    await browser.press(second, { kind: 'claim', recipient: bob })
    expect((await p.ask(`/refs/${second.ref}`)).body.isValidRef).toBe(false)
  })
})

describe('two taps', () => {
  test('the first page registers, and stays; the second knows it, counts down, and claims', async () => {
    const browser = new Browser(p)
    const first = await browser.tap(chips.art(1), 1)
    expect(await browser.states(first)).toEqual({ 'register-0': { is: 'open' }, 'claim-0': { is: 'open' } })
    const pressed = await Promise.all(
      Array.from({ length: 10 }, () => browser.press(first, { kind: 'register', recipient: bob })),
    )
    expect(pressed.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    const allowedAt = new Date(clock.now() + 60_000).toISOString()
    const registered = { is: 'registered', recipient: getAddress(bob), allowedAt }
    expect(await browser.states(first)).toMatchObject({
      'register-0': { ...registered, isSameTap: true },
      'claim-0': { ...registered, isSameTap: true },
    })
    expect((await browser.load(first.parameters)).answer.statusCode).toBe(200)

    const second = await browser.tap(chips.art(1), 2)
    expect((await browser.load(first.parameters)).answer.statusCode).toBe(200)
    expect(await browser.states(second)).toMatchObject({
      'register-0': { ...registered, isSameTap: false },
      'claim-0': { ...registered, isSameTap: false },
    })
    // Somebody else's browser is not told, and the rule decides.
    expect(await new Browser(p).states(second)).toEqual({
      'register-0': { is: 'open' },
      'claim-0': { is: 'open' },
    })
    expect(await browser.press(second, { kind: 'claim', recipient: bob })).toMatchObject({ status: 409 })
    clock.advance('60s')
    expect(await browser.press(second, { kind: 'claim', recipient: bob })).toMatchObject({ status: 200 })
    expect(await p.owner('ART', 1)).toBe(getAddress(bob))
    expect(await browser.states(second)).toMatchObject({
      'register-0': { is: 'confirmed', recipient: getAddress(bob) },
      'claim-0': { is: 'confirmed' },
    })
    expect(await browser.states(first)).toMatchObject({
      'register-0': { is: 'confirmed', recipient: getAddress(bob) },
      'claim-0': { is: 'closed', reason: 'claimed' },
    })
  })
  test('registering the same wallet from another browser keeps its time, and both pages say so', async () => {
    const [one, other] = [new Browser(p), new Browser(p)]
    const first = await one.tap(chips.art(2), 1)
    expect(await one.press(first, { kind: 'register', recipient: bob })).toMatchObject({ status: 200 })
    const before = await one.states(first)
    expect(before['claim-0']).toMatchObject({ is: 'registered', recipient: getAddress(bob), isSameTap: true })
    clock.advance('30s')
    const second = await other.tap(chips.art(2), 2)
    const pressed = await other.press(second, { kind: 'register', recipient: 'bob.eth' })
    expect(pressed).toMatchObject({ status: 200, state: 'confirmed' })
    expect(await one.states(first)).toEqual(before)
    expect(await other.states(second)).toEqual(before)
    // It took no part of the audit log, and no webhook.
    const registered = await p.ctx.db.read
      .selectFrom('audit')
      .select('id')
      .where('action', '=', 'claim-registrations.create')
      .where('target', 'like', '%/2')
      .execute()
    expect(registered).toHaveLength(1)

    clock.advance('30s')
    // Either browser knows it at the next tap.
    for (const [browser, counter] of [
      [one, 3],
      [other, 4],
    ] as const) {
      const page = await browser.tap(chips.art(2), counter)
      expect((await browser.states(page))['claim-0']).toMatchObject({ is: 'registered', isSameTap: false })
      if (browser !== other) continue
      expect(await browser.press(page, { kind: 'claim', recipient: bob })).toMatchObject({ status: 200 })
    }
    expect((await one.states(first))['claim-0']).toMatchObject({ is: 'closed', reason: 'claimed' })
  })

  test('what became of a registration is told as it is: registered anew by an app, or withdrawn by the team', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.art(3), 1)
    await browser.press(page, { kind: 'register', recipient: bob })
    const before = (await browser.states(page))['claim-0']
    clock.advance('10s')
    const token = { ...p.token('ART', 3), recipient: bob }
    const { body } = await p.ask('/phygitals/claim-registration', token, { method: 'POST', key: acmeKey })
    const anew = (await browser.states(page))['claim-0']
    expect(anew).toMatchObject({ is: 'registered', allowedAt: body.allowedAt, isSameTap: true })
    expect(anew).not.toEqual(before)
    await p.ask('/phygitals/claim-registration', token, { method: 'DELETE', key: acmeKey })
    expect(await browser.states(page)).toEqual({
      'register-0': { is: 'closed', reason: 'withdrawn' },
      'claim-0': { is: 'closed', reason: 'withdrawn' },
    })
  })
})
