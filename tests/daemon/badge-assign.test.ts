import { describe, expect, onTestFinished, test } from 'vitest'
import { openBadgeApp, tapRef } from '../support/badges.ts'
import { type Options, testClock } from '../support/daemon.ts'
import { acmeKey, derived, otherKey, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

async function open(options: Options = {}) {
  const clock = testClock()
  const t = await openBadgeApp({ clock, ...options })
  onTestFinished(() => t.close())
  const { body } = await t.create()
  const listed = async (uid: string = uids.blank) => (await tapRef(t.app, uid)).badgeEvents
  const find = async (uid: string, counter: number) =>
    (await t.app.inject({ url: tapPath(tap(derived, { uid }, counter), '/chips/find') })).json()
  return { ...t, clock, listed, find, event: body.id as number, upstreamId: body.poapResponse.id as number }
}

describe('assigning to a chip', () => {
  test('its taps show the event, with a code and its status, on refs, look-ups and OTPs', async () => {
    const t = await open()
    expect(await t.listed()).toEqual([])
    expect(await t.assign({ poapEventId: t.event, tagUID: uids.blank })).toMatchObject({
      status: 200,
      body: { success: true },
    })
    const [shown] = await t.listed()
    expect(shown).toEqual({
      id: t.event,
      poapEventId: t.upstreamId,
      status: 'active',
      otp: expect.stringMatching(/^[\w-]{21}$/),
    })
    expect((await t.call(`GET /otps/${shown.otp}`)).body).toMatchObject({
      type: 'POAP_EVENT',
      isExpired: false,
      badgeEvent: { id: t.event, poapEventId: t.upstreamId, status: 'active' },
    })
    const found = await t.find(uids.blank, 5000)
    expect(found.badgeEvent).toEqual({ id: t.event, poapEventId: t.upstreamId, remainingCodesCount: 5 })
    expect((await t.call(`GET /otps/${found.otp.code}`)).body.badgeEvent.id).toBe(t.event)
  })

  test('a UID in hex, and an id in digits, do as well', async () => {
    const t = await open()
    const body = { poapEventId: String(t.event), tagUID: '04:C7:67:F2:06:61:80' }
    expect((await t.assign(body)).status).toBe(200)
    expect(await t.listed()).toHaveLength(1)
  })

  test('assigned again, it gets the new window and words, and is there once', async () => {
    const t = await open()
    await t.assign({ poapEventId: t.event, tagUID: uids.blank, title: 'First' })
    await t.assign({
      poapEventId: t.event,
      tagUID: uids.blank,
      startsAt: '2026-06-01T13:00:00Z',
      endsAt: '2026-06-01T14:00:00Z',
      title: 'Second',
      description: 'In the afternoon',
    })
    expect(await t.listed()).toEqual([])
    t.clock.advance('1h')
    expect(await t.listed()).toHaveLength(1)
    t.clock.advance('1h')
    expect(await t.listed()).toHaveLength(1)
    t.clock.advance('1s')
    expect(await t.listed()).toEqual([])
    const rows = await t.ctx.db.read
      .selectFrom('badgeAssignments')
      .selectAll()
      .where('badgeEventId', '=', t.event)
      .execute()
    expect(rows).toMatchObject([{ title: 'Second', description: 'In the afternoon' }])
    await t.assign({ poapEventId: t.event, tagUID: uids.blank })
    expect(await t.listed()).toHaveLength(1)
  })

  test("the event's own days are the window, to the last second in UTC", async () => {
    const t = await open({ clock: testClock('2026-06-02T23:59:59.000Z') })
    await t.assign({ poapEventId: t.event, tagUID: uids.blank })
    expect(await t.listed()).toHaveLength(1)
    const late = await open({ clock: testClock('2026-06-03T00:00:00.000Z') })
    await late.assign({ poapEventId: late.event, tagUID: uids.blank })
    expect(await late.listed()).toEqual([])
  })

  test('one end given, the other is that of the event', async () => {
    const t = await open()
    await t.assign({ poapEventId: t.event, tagUID: uids.blank, startsAt: '2026-06-01T13:00:00Z' })
    expect(await t.listed()).toEqual([])
    t.clock.advance('1h')
    expect(await t.listed()).toHaveLength(1)
  })
})

describe('assigning to a token', () => {
  test('shows on every chip of the token', async () => {
    const t = await open()
    const { linkedToken } = await tapRef(t.app, uids.jacket)
    const { contractAddress, chainId, tokenId } = linkedToken
    const body = { poapEventId: t.event, contractAddress: contractAddress.toLowerCase(), chainId, tokenId }
    expect((await t.assign(body)).status).toBe(200)
    expect((await t.assign({ ...body, title: 'Again' })).status).toBe(200)
    for (const uid of [uids.jacket, uids.twin]) {
      const events = await t.listed(uid)
      expect(events).toMatchObject([{ id: t.event, status: 'active', otp: expect.any(String) }])
    }
    expect(await t.listed(uids.blank)).toEqual([])
  })

  test('a chip whose own assignment names the event as well shows it once', async () => {
    const t = await open()
    const { linkedToken } = await tapRef(t.app, uids.jacket)
    const { contractAddress, chainId, tokenId } = linkedToken
    await t.assign({
      poapEventId: t.event,
      contractAddress,
      chainId: String(chainId),
      tokenId: Number(tokenId),
    })
    await t.assign({ poapEventId: t.event, tagUID: uids.jacket })
    expect(await t.listed(uids.jacket)).toHaveLength(1)
  })
})

describe('refused', () => {
  test('what belongs to another team, or is not there, is a 404', async () => {
    const t = await open()
    const theirs = await t.create({}, { key: otherKey })
    const { linkedToken } = await tapRef(t.app, uids.jacket)
    const { contractAddress, chainId } = linkedToken
    const token = { contractAddress, chainId, tokenId: '1' }
    const refused = [
      await t.assign({ poapEventId: theirs.body.id, tagUID: uids.blank }),
      await t.assign({ poapEventId: t.event, tagUID: '04827F12647380' }),
      await t.assign({ poapEventId: t.event, tagUID: '04827F12647381' }),
      await t.assign({ poapEventId: 9999, tagUID: uids.blank }),
      // The upstream id is not what this endpoint takes.
      await t.assign({ poapEventId: t.upstreamId, tagUID: uids.blank }),
      await t.assign({ poapEventId: theirs.body.id, ...token }, otherKey),
      await t.assign({ poapEventId: t.event, ...token, tokenId: '77' }),
    ]
    expect(refused.map(({ status }) => status)).toEqual(Array(7).fill(404))
    expect((await t.assign({ poapEventId: t.event, ...token }, acmeKey)).status).toBe(200)
  })

  test.each([
    [{}, 'contractAddress: Required'],
    [{ contractAddress: `0x${'1'.repeat(40)}`, chainId: 1 }, 'tokenId: Required'],
    [{ tagUID: uids.blank, startsAt: '2026-02-31T00:00:00Z' }, 'startsAt'],
    [{ tagUID: uids.blank, startsAt: '2026-06-01' }, 'startsAt'],
    [{ tagUID: uids.blank, endsAt: '2026-06-01T00:00:00+02:00' }, 'endsAt'],
    [{ tagUID: uids.blank, startsAt: '2026-06-02T00:00:00Z', endsAt: '2026-06-01T00:00:00Z' }, 'endsAt'],
    [{ tagUID: uids.blank, startsAt: '2027-01-01T00:00:00Z' }, 'startsAt'],
    [{ tagUID: 'no uid' }, 'tagUID'],
    [{ tagUID: uids.blank, poapEventId: 'x' }, 'poapEventId'],
  ])('%j is a 400', async (body, named) => {
    const t = await open()
    const answer = await t.assign({ poapEventId: t.event, ...body })
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(named)
  })
})

describe('statuses', () => {
  test.each([
    ['future', { startDate: '2026-06-02', endDate: '2026-06-03', expiryDate: '2026-06-04' }],
    ['active', { startDate: '2026-06-01', endDate: '2026-06-01', expiryDate: '2026-06-01' }],
    ['expired', { startDate: '2026-05-01', endDate: '2026-05-02', expiryDate: '2026-05-31' }],
  ])('%s, and there is a code whatever it is', async (status, days) => {
    const t = await open()
    const { body } = await t.create(days)
    await t.assign({
      poapEventId: body.id,
      tagUID: uids.blank,
      startsAt: '2026-01-01T00:00:00Z',
      endsAt: '2026-12-31T00:00:00Z',
    })
    expect(await t.listed()).toMatchObject([{ status, otp: expect.any(String) }])
  })

  test('pending-approval and rejected as operators say', async () => {
    const t = await open({ env: { TAPCHIP_BADGE_APPROVAL: 'manual' } })
    await t.assign({ poapEventId: t.event, tagUID: uids.blank })
    expect(await t.listed()).toMatchObject([{ status: 'pending-approval', otp: expect.any(String) }])
    await t.call(`POST /admin/badge-events/${t.event}/reject`)
    expect(await t.listed()).toMatchObject([{ status: 'rejected', otp: expect.any(String) }])
    await t.call(`POST /admin/badge-events/${t.event}/approve`)
    expect(await t.listed()).toMatchObject([{ status: 'active', otp: expect.any(String) }])
  })
})
