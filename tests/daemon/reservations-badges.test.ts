import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { openBadgeApp, openEvent, openPoapApp } from '../support/badges.ts'
import { adminToken, allSettled, testClock } from '../support/daemon.ts'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { faults } from '../support/poap/faults.ts'
import { digitsIn, keep, pathIn, sendForm, show } from '../support/reservations.ts'
import { uids } from '../support/seeds.ts'
import { severalThings } from '../support/several-things.ts'
import { Browser } from '../support/tap-browser.ts'

// Badges and guestbooks that are kept by e-mail. The events of the seed have one badge each.

let server: TestMailServer
let p: Phygitals
const clock = testClock()
const env = () => ({ TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'tags@acme.example' })

beforeAll(async () => {
  server = await startMailServer()
  p = await openPhygitals({ clock, seed: severalThings({ codes: 1 }), env: env() })
  await p.settled()
})
afterAll(async () => {
  await p.close()
  await server.stop()
})

const remaining = async () =>
  (await p.ctx.db.read.selectFrom('badgeEvents').select('remainingCodes').orderBy('id').execute()).map(
    ({ remainingCodes }) => remainingCodes,
  )
const kinds = async (browser: Browser, page: { ref: string }) =>
  Object.entries(await browser.states(page)).map(([key, state]) => [key.split('-')[0], state] as const)
const badgesOf = (states: Awaited<ReturnType<typeof kinds>>) => states.filter(([kind]) => kind === 'badge')
const wallet = (n: number) => `0x${String(n).padStart(2, '0').repeat(20)}`
const adminDelete = (path: string) =>
  p.app.inject({ method: 'DELETE', url: path, headers: { authorization: `Bearer ${adminToken}` } })
const newestId = async () =>
  (
    await p.ctx.db.read
      .selectFrom('reservations')
      .select('tapId')
      .orderBy('tapId', 'desc')
      .executeTakeFirstOrThrow()
  ).tapId

describe('a badge that is kept', () => {
  test('counts as given: the last one is nobody else’s, until it is released', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(1), 1)
    const path = await keep(server, browser, page, 'first@example.org')
    expect(await remaining()).toEqual([0, 0])
    const other = new Browser(p)
    const second = await other.tap(chips.jacket(2), 1)
    const [, id = ''] = /value="badge-(\d+)"/.exec(second.answer.body) ?? []
    const press = () => other.press(second, { kind: 'badge', id: Number(id), recipient: carol })
    const gone = await press()
    expect(gone).toMatchObject({ status: 400, state: 'failed' })
    expect(gone.html).toContain('All badges of this event')

    expect((await adminDelete(`/admin/reservations/${await newestId()}`)).statusCode).toBe(200)
    expect(await remaining()).toEqual([1, 1])
    expect((await p.app.inject({ url: path })).statusCode).toBe(410)
    expect(await press()).toMatchObject({ status: 200, state: 'confirmed' })
    expect((await remaining()).sort()).toEqual([0, 1])
  })

  test('is kept once by ten who ask at once, and what is left of a tap is kept without it', async () => {
    const browsers = await Promise.all(
      [3, 4, 5, 6].map(async (n) => {
        const browser = new Browser(p)
        const page = await browser.tap(chips.jacket(n), 1)
        await sendForm(browser, page, { email: `person${n}@example.org` })
        return { browser, page, n }
      }),
    )
    const mails = () => server.mails().filter(({ headers }) => /^person\d/.test(headers.to ?? ''))
    await expect.poll(() => mails().length, { timeout: 20_000 }).toBe(4)
    const codeOf = (n: number) =>
      digitsIn(mails().find(({ headers }) => headers.to === `person${n}@example.org`)?.text ?? '')
    const answers = await Promise.all(
      browsers.flatMap(({ browser, page, n }) =>
        [1, 2, 3].map(() => sendForm(browser, page, { code: codeOf(n) })),
      ),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 303))
    expect(await remaining()).toEqual([0, 0])
    const held = await p.ctx.db.read.selectFrom('keptBadges').selectAll().execute()
    expect(held).toHaveLength(1)
    const left = await p.ctx.db.read
      .selectFrom('reservations')
      .select('left')
      .where('state', '=', 'kept')
      .execute()
    // A claim and a guestbook each, and one badge.
    expect(left.map((row) => row.left).sort()).toEqual([2, 2, 2, 3])
  })

  test('goes to the wallet with everything else that the link gives, once, and its tap says so', async () => {
    const tapId = (await p.ctx.db.read.selectFrom('keptBadges').select('tapId').executeTakeFirstOrThrow())
      .tapId
    await expect
      .poll(() => server.mails().filter(({ text }) => pathIn(text) !== ''), { timeout: 20_000 })
      .toHaveLength(5)
    const { chipUid } = await p.ctx.db.read
      .selectFrom('reservations')
      .select('chipUid')
      .where('tapId', '=', tapId)
      .executeTakeFirstOrThrow()
    const n = [3, 4, 5, 6].find((one) => BigInt(`0x${chips.jacket(one)}`).toString() === chipUid) ?? 0
    const path = pathIn(
      server.mails().find(({ headers, text }) => headers.to === `person${n}@example.org` && pathIn(text))
        ?.text ?? '',
    )
    const browser = new Browser(p)
    const ten = await Promise.all(
      Array.from({ length: 10 }, () => browser.post(path, { recipient: wallet(n) })),
    )
    expect(ten.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(303))
    await allSettled(p.ctx)
    const done = (await p.app.inject({ url: path })).body
    expect(done.split(getAddress(wallet(n))).length).toBeGreaterThan(3)
    expect(done).not.toContain('name="recipient"')
    const row = await p.ctx.db.read
      .selectFrom('reservations')
      .select(['state', 'left', 'address'])
      .where('tapId', '=', tapId)
      .executeTakeFirst()
    expect(row).toEqual({ state: 'done', left: 0, address: null })
    expect(await remaining()).toEqual([0, 0])
    expect(await p.ctx.db.read.selectFrom('keptBadges').selectAll().execute()).toEqual([])
  })

  test('goes back to the others when nobody named a wallet in time', async () => {
    const one = await p.ctx.db.read.selectFrom('badgeClaims').select('id').execute()
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(2), 2)
    await p.ctx.db.write((trx) => trx.updateTable('badgeEvents').set({ remainingCodes: 1 }).execute())
    await keep(server, browser, page, 'late@example.org')
    expect(await remaining()).toEqual([0, 0])
    expect(badgesOf(await kinds(browser, page)).map(([, state]) => state)).toEqual(
      Array(2).fill({ is: 'closed', reason: 'kept-here' }),
    )
    clock.advance('91d')
    await cleanUp(p.ctx)
    expect(await remaining()).toEqual([1, 1])
    expect(await p.ctx.db.read.selectFrom('badgeClaims').select('id').execute()).toEqual(one)
  })
})

test('the tap of what went out says that it went by the link, and not that it was used elsewhere', async () => {
  const browser = new Browser(p)
  const page = await browser.tap(chips.jacket(1), 2)
  const path = await keep(server, browser, page, 'gone@example.org')
  expect((await browser.post(path, { recipient: bob })).statusCode).toBe(303)
  await allSettled(p.ctx)
  for (const [, state] of await kinds(browser, page)) expect(state).toMatchObject({ reason: 'kept-given' })
  expect(await show(browser, page)).not.toContain('used elsewhere')
})

test('what is refused stays kept for another wallet, also after the token went out', async () => {
  await p.ctx.db.write((trx) => trx.updateTable('badgeEvents').set({ remainingCodes: 5 }).execute())
  const uid = chips.jacket(5)
  const first = new Browser(p)
  const before = await first.tap(uid, 20)
  const [, id = ''] = /value="badge-(\d+)"/.exec(before.answer.body) ?? []
  const owner = wallet(55)
  const has = await first.press(before, { kind: 'badge', id: Number(id), recipient: owner })
  expect(has).toMatchObject({ status: 200 })

  const browser = new Browser(p)
  const path = await keep(server, browser, await browser.tap(uid, 21), 'refused@example.org')
  const refused = await browser.post(path, { recipient: owner })
  expect(refused.statusCode).toBe(400)
  await allSettled(p.ctx)
  const token = (n: number) => p.owner('JKT', n)
  expect(await token(5)).toBe(getAddress(owner))
  expect((await p.app.inject({ url: path })).body).toContain('name="recipient"')
  expect((await browser.post(path, { recipient: wallet(56) })).statusCode).toBe(303)
  const claims = await p.ctx.db.read
    .selectFrom('badgeClaims')
    .select('recipient')
    .where('badgeEventId', '=', Number(id))
    .orderBy('id', 'desc')
    .limit(2)
    .execute()
  expect(claims.map(({ recipient }) => recipient)).toEqual([wallet(56), owner].map((one) => getAddress(one)))
  expect(await token(5)).toBe(getAddress(owner))
})

test('who lost the link to badges gets another at a later tap, by their address alone', async () => {
  const uid = chips.jacket(6)
  const browser = new Browser(p)
  const path = await keep(server, browser, await browser.tap(uid, 7), 'lost@example.org')
  // Somebody claimed the token since: what is left is the guestbook.
  await p.ctx.db.write((trx) =>
    trx.updateTable('reservations').set({ claims: 0 }).where('state', '=', 'kept').execute(),
  )
  const later = new Browser(p)
  const page = await later.tap(uid, 8)
  expect(await show(later, page)).toContain('Is it kept for you?')
  const before = server.mails().length
  const asked = async (email: string) => {
    const fields = { ref: page.ref, email, link: '1' }
    const answer = await later.post('/t/reserve', fields, { accept: 'application/json' })
    const cards: { key: string; html: string }[] = answer.json().cards
    return cards.find(({ key }) => key === 'reserve-0')?.html.replaceAll(email, '')
  }
  const [stranger, own] = [await asked('stranger@example.org'), await asked('Lost+1@example.org')]
  expect(own).toContain('If it is kept for this address')
  // Whoever asks learns nothing.
  expect(stranger).toBe(own)
  const again = pathIn((await server.newest(before + 1)).text)
  expect(server.mails().at(-1)?.headers.to).toBe('lost@example.org')
  expect((await p.app.inject({ url: path })).statusCode).toBe(404)
  expect((await p.app.inject({ url: again })).body).toContain('name="recipient"')
})

test('badges alone are kept as long as their event goes on, also after the chip shows them no longer', async () => {
  const time = testClock()
  const t = await openBadgeApp({ clock: time, env: env() })
  onTestFinished(() => t.close())
  t.ctx.mailing?.queue.start()
  const { id } = await openEvent(t, {
    name: 'Launch walk',
    startDate: '2026-06-01',
    endDate: '2026-06-01',
    expiryDate: '2026-06-10',
  })
  await t.assign({ poapEventId: id, tagUID: uids.blank, endsAt: '2026-06-01T13:00:00Z' })
  const browser = new Browser(t)
  const path = await keep(server, browser, await browser.tap(uids.blank, 1), 'window@example.org')
  expect(server.mails().at(-2)?.headers.subject).toMatch(/^\d{6} is your code for Launch walk$/)
  expect(server.mails().at(-1)?.headers.subject).toBe('Launch walk is kept for you')
  const row = await t.ctx.db.read.selectFrom('reservations').select('endsAt').executeTakeFirst()
  expect(row).toEqual({ endsAt: '2026-06-10T23:59:59.999Z' })
  time.advance('2d')
  const later = new Browser(t)
  expect(await later.states(await later.tap(uids.blank, 2))).toEqual({})
  expect((await browser.post(path, { recipient: bob })).statusCode).toBe(303)
  expect((await t.app.inject({ url: path })).body).toContain(getAddress(bob))
})

describe('a badge of POAP that is kept', () => {
  test('is kept on while POAP fails or refuses, and goes out once', async () => {
    const t = await openPoapApp({ env: env() })
    const { id, code } = await t.event({ requestedCodes: '3' })
    expect((await t.mint(await code(), { recipient: bob, poapEventId: id })).status).toBe(200)
    const state = async () => {
      const row = await t.ctx.db.read
        .selectFrom('reservations')
        .select(['state', 'left'])
        .executeTakeFirstOrThrow()
      const event = await t.ctx.db.read
        .selectFrom('badgeEvents')
        .select('remainingCodes')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return { ...row, ...event }
    }
    t.ctx.mailing?.queue.start()
    const browser = new Browser(t)
    const path = await keep(server, browser, await browser.tap(uids.blank, 9000), 'poap@example.org')
    expect(await state()).toEqual({ state: 'kept', left: 1, remainingCodes: 1 })

    // This wallet has one: the same link takes another.
    expect((await browser.post(path, { recipient: bob })).statusCode).toBe(400)
    expect(await state()).toEqual({ state: 'kept', left: 1, remainingCodes: 1 })

    // Nobody knows whether it happened: the same wallet is asked for again.
    t.poap.fail('POST /actions/claim-qr', faults.dropAfter)
    const { dropBefore } = faults
    t.poap.fail('GET /actions/claim-qr', dropBefore, dropBefore, dropBefore, dropBefore)
    expect((await browser.post(path, { recipient: carol })).statusCode).toBe(503)
    const again = await Promise.all([1, 2, 3].map(() => browser.post(path, { recipient: carol })))
    for (const { statusCode } of again) expect([303, 503]).toContain(statusCode)
    clock.advance('1m')
    t.clock.advance('1m')
    await t.ctx.badges.tick()
    const claims = await t.ctx.db.read.selectFrom('badgeClaims').select(['state', 'recipient']).execute()
    expect(claims).toEqual([bob, carol].map((one) => ({ state: 'claimed', recipient: getAddress(one) })))
    expect(await state()).toEqual({ state: 'done', left: 0, remainingCodes: 1 })
    const done = await t.app.inject({ url: path })
    expect(done.body).toContain(getAddress(carol))
  })
})
