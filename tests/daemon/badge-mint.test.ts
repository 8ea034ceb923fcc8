import { describe, expect, onTestFinished, test } from 'vitest'
import { openBadgeApp, openEvent, tapRef, wallet } from '../support/badges.ts'
import type { Options } from '../support/daemon.ts'
import { testClock } from '../support/daemon.ts'
import { alice, derived, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

async function open(options: Options = {}) {
  const t = await openBadgeApp(options)
  onTestFinished(() => t.close())
  return t
}

let wallets = 100
const nextWallet = () => wallet(++wallets)

const counted = (answers: { status: number }[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('minting', () => {
  test('takes a code of the event, and the OTP', async () => {
    const t = await open()
    const event = await openEvent(t)
    const code = await event.code()
    expect(await t.mint(code, { recipient: wallet(1), poapEventId: event.id })).toMatchObject({
      status: 200,
      body: { success: true },
    })
    expect(await t.isGood(code)).toBe(false)
    const [listed] = (await t.call('GET /admin/badge-events?limit=1')).body
    expect(listed).toMatchObject({
      id: event.id,
      requestedCodes: 5,
      remainingCodesCount: 4,
      status: 'active',
    })
    const again = await t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect({ status: again.status, code: again.body.code }).toEqual({ status: 401, code: 'otp_used' })
  })

  test.each(['id', 'upstreamId'] as const)(
    'takes the %s of the event, as a number and as digits',
    async (name) => {
      const t = await open()
      const event = await openEvent(t)
      for (const poapEventId of [event[name], String(event[name])])
        expect(await t.mint(await event.code(), { recipient: nextWallet(), poapEventId })).toMatchObject({
          status: 200,
        })
    },
  )

  test("another event's id is a 400, and uses nothing up", async () => {
    const t = await open()
    const event = await openEvent(t)
    const other = await openEvent(t, { name: 'Another' }, uids.twin)
    const code = await event.code()
    const { status, body } = await t.mint(code, { recipient: wallet(1), poapEventId: other.id })
    expect(status).toBe(400)
    expect(body).toMatchObject({ statusCode: 400, error: 'Bad Request', code: 'invalid_input' })
    expect(body.message).toContain('poapEventId')
    expect(await t.isGood(code)).toBe(true)
  })

  test('an email address gets one, whoever it is is kept, and operators see it', async () => {
    const t = await open()
    const event = await openEvent(t)
    await t.mint(await event.code(), { recipient: ' ana@example.org ', poapEventId: event.id })
    await t.mint(await event.code(), { recipient: wallet(2), poapEventId: event.id })
    const { body } = await t.call(`GET /admin/badge-events/${event.id}/claims`)
    expect(body).toMatchObject([
      { recipient: expect.stringMatching(/^0x/), state: 'claimed', transaction: null },
      {
        recipient: 'ana@example.org',
        state: 'claimed',
        uid: expect.any(String),
        claimedAt: expect.any(String),
      },
    ])
  })

  test('an ENS name is looked up when the request is accepted', async () => {
    const t = await open({ chain: true, clock: testClock(new Date().toISOString()) })
    const today = new Date().toISOString().slice(0, 10)
    const event = await openEvent(t, { startDate: today, endDate: today, expiryDate: today })
    expect((await t.mint(await event.code(), { recipient: 'alice.eth', poapEventId: event.id })).status).toBe(
      200,
    )
    const [claim] = (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
    expect(claim.recipient.toLowerCase()).toBe(alice.toLowerCase())
    const code = await event.code()
    const unknown = await t.mint(code, { recipient: 'nobody.eth', poapEventId: event.id })
    expect(unknown).toMatchObject({ status: 400, body: { code: 'recipient_invalid' } })
    expect(await t.isGood(code)).toBe(true)
  })

  test('an address may have the prefix of any chain, because these badges are on none', async () => {
    const t = await open()
    const event = await openEvent(t)
    const recipient = `matic:${wallet(1)}`
    expect((await t.mint(await event.code(), { recipient, poapEventId: event.id })).status).toBe(200)
    const [{ owner }] = (await t.call(`GET /actions/scan/eth:${wallet(1)}`)).body
    expect(owner.toLowerCase()).toBe(wallet(1).toLowerCase())
    const claims = (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
    expect(claims).toMatchObject([{ recipient: owner }])
  })

  test.each([
    ['the zero address', `0x${'0'.repeat(40)}`],
    ['an address with a wrong checksum', '0x52908400098527886E0F7030069857D2E4169Ee7'],
    ['half an address', '0x1234'],
    ['half an email address', 'ana@'],
    ['two e-mail addresses', 'a@example.org, b@example.org'],
    ['nothing', ' '],
  ])('%s is a 400, and uses nothing up', async (_what, recipient) => {
    const t = await open()
    const event = await openEvent(t)
    const code = await event.code()
    expect((await t.mint(code, { recipient, poapEventId: event.id })).status).toBe(400)
    expect(await t.isGood(code)).toBe(true)
  })

  test('without a code, with one that never was, and with one for something else', async () => {
    const t = await open()
    const event = await openEvent(t)
    const body = { recipient: wallet(1), poapEventId: event.id }
    const without = await t.call('POST /badge-events/mint', body, {})
    expect(without).toMatchObject({ status: 401, body: { code: 'otp_missing' } })
    expect(await t.mint('x'.repeat(21), body)).toMatchObject({ status: 401, body: { code: 'otp_unknown' } })
    const { linkedToken } = await tapRef(t.app, uids.jacket)
    expect(await t.mint(linkedToken.otp, body)).toMatchObject({
      status: 400,
      body: { statusCode: 400, error: 'Bad Request', code: 'otp_unsupported' },
    })
  })

  test.each([
    ['that has not begun', { startDate: '2026-06-02' }],
    ['that is over', { startDate: '2026-05-01', endDate: '2026-05-31', expiryDate: '2026-05-31' }],
  ])('an event %s gives none, and the code stays good', async (_what, days) => {
    const t = await open()
    const event = await openEvent(t, days)
    await t.assign({
      poapEventId: event.id,
      tagUID: uids.blank,
      startsAt: '2026-01-01T00:00:00Z',
      endsAt: '2026-12-31T00:00:00Z',
    })
    const code = await event.code()
    const { status, body } = await t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'badge_not_active' })
    expect(await t.isGood(code)).toBe(true)
  })

  test('the last day counts to its last second, in UTC', async () => {
    const clock = testClock('2026-07-01T23:59:59.000Z')
    const t = await open({ clock })
    const event = await openEvent(t)
    await t.assign({ poapEventId: event.id, tagUID: uids.blank, endsAt: '2026-12-31T00:00:00Z' })
    const [first, second] = [await event.code(), await event.code()]
    expect((await t.mint(first, { recipient: wallet(1), poapEventId: event.id })).status).toBe(200)
    clock.advance('1s')
    expect((await t.mint(second, { recipient: wallet(1), poapEventId: event.id })).status).toBe(400)
  })
})

describe('of several at once', () => {
  test('ten for the last code: one success, nine 400s, and nine codes that are still good', async () => {
    const t = await open()
    const event = await openEvent(t, { requestedCodes: '1' })
    const codes: string[] = []
    for (let n = 0; n < 10; n += 1) codes.push(await event.code())
    const answers = await Promise.all(
      codes.map((code, n) => t.mint(code, { recipient: wallet(n), poapEventId: event.id })),
    )
    expect(counted(answers)).toEqual({ 200: 1, 400: 9 })
    const refused = answers.filter(({ status }) => status === 400)
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['badge_codes_gone']))
    const good = await Promise.all(codes.map((code) => t.isGood(code)))
    expect(good).toEqual(answers.map(({ status }) => status === 400))
    const found = await t.app.inject({
      url: tapPath(tap(derived, { uid: uids.blank }, 99_999), '/chips/find'),
    })
    expect(found.json().badgeEvent.remainingCodesCount).toBe(0)
  })

  test('ten of one code: one wins', async () => {
    const t = await open()
    const event = await openEvent(t)
    const code = await event.code()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => t.mint(code, { recipient: wallet(n), poapEventId: event.id })),
    )
    expect(counted(answers)).toEqual({ 200: 1, 401: 9 })
    expect((await t.call(`GET /admin/badge-events/${event.id}/claims`)).body).toHaveLength(1)
  })

  test('ten of one device: one badge, and nine codes that are still good', async () => {
    const t = await open()
    const event = await openEvent(t, { requestedCodes: '20' })
    const codes: string[] = []
    for (let n = 0; n < 10; n += 1) codes.push(await event.code())
    const answers = await Promise.all(
      codes.map((code, n) =>
        t.mint(code, { recipient: wallet(n), poapEventId: event.id, deviceId: 'phone' }),
      ),
    )
    expect(counted(answers)).toEqual({ 200: 1, 400: 9 })
    expect(answers.find(({ status }) => status === 400)?.body.code).toBe('badge_device_used')
    expect((await Promise.all(codes.map((code) => t.isGood(code)))).filter(Boolean)).toHaveLength(9)
    const other = await t.mint(codes[answers.findIndex(({ status }) => status === 400)] ?? '', {
      recipient: nextWallet(),
      poapEventId: event.id,
      deviceId: 'tablet',
    })
    expect(other.status).toBe(200)
  })

  test('a device mints for another event, and a client without one mints as often as it has codes', async () => {
    const t = await open()
    const event = await openEvent(t)
    const other = await openEvent(t, { name: 'Another' }, uids.twin)
    const mint = (code: string, id: number, deviceId?: string | null) =>
      t.mint(code, {
        recipient: nextWallet(),
        poapEventId: id,
        ...(deviceId === undefined ? {} : { deviceId }),
      })
    expect((await mint(await event.code(), event.id, 'phone')).status).toBe(200)
    expect((await mint(await other.code(), other.id, 'phone')).status).toBe(200)
    for (const deviceId of [undefined, undefined, null, ''])
      expect((await mint(await event.code(), event.id, deviceId)).status).toBe(200)
  })
})

describe('with an Idempotency-Key', () => {
  test('a repetition gets the first answer, at once and later, and one badge is minted', async () => {
    const t = await open()
    const event = await openEvent(t)
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    const key = { 'idempotency-key': 'once' }
    const answers = await Promise.all(Array.from({ length: 10 }, () => t.mint(code, body, key)))
    expect(counted(answers)).toEqual({ 200: 10 })
    expect((await t.mint(code, body, key)).status).toBe(200)
    expect((await t.mint(code, { ...body, recipient: wallet(2) }, key)).status).toBe(409)
    expect((await t.call(`GET /admin/badge-events/${event.id}/claims`)).body).toHaveLength(1)
  })

  test('a refusal is not kept', async () => {
    const t = await open({ env: { TAPCHIP_BADGE_APPROVAL: 'manual' } })
    const event = await openEvent(t)
    const code = await event.code()
    const mint = () =>
      t.mint(code, { recipient: wallet(1), poapEventId: event.id }, { 'idempotency-key': 'k' })
    expect((await mint()).status).toBe(400)
    await t.call(`POST /admin/badge-events/${event.id}/approve`)
    expect((await mint()).status).toBe(200)
  })
})

test('codes of one tap are worth one badge together', async () => {
  const t = await open()
  const event = await openEvent(t)
  const page = await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 500)) })
  const refs = [...page.body.matchAll(/svcRef=([\w-]{21})/g)].map((match) => match[1])
  expect(refs.length).toBe(2)
  const headers = { 'x-svc-api-key': 'svc_acme_0123456789abcdef' }
  const codes: string[] = []
  for (const ref of refs)
    codes.push((await t.app.inject({ url: `/refs/${ref}`, headers })).json().badgeEvents[0].otp)
  const [first = '', second = ''] = codes
  const body = { recipient: wallet(1), poapEventId: event.id }
  expect((await t.mint(first, body)).status).toBe(200)
  expect((await t.mint(second, body)).status).toBe(401)
})

test('a seeded event has its codes at once, and is minted like any other', async () => {
  const t = await open()
  const { badgeEvents } = await tapRef(t.app, uids.events)
  const [launch] = badgeEvents
  expect(launch).toMatchObject({ status: 'active', poapEventId: 100_000 })
  expect((await t.mint(launch.otp, { recipient: wallet(1), poapEventId: launch.id })).status).toBe(200)
})
