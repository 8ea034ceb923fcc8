import { describe, expect, onTestFinished, test } from 'vitest'
import { openBadgeApp, tapRef } from '../support/badges.ts'
import { type Options, testClock } from '../support/daemon.ts'
import { acmeKey, derived, otherKey, seed, uids } from '../support/seeds.ts'
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

  test('without a window it is always listed, and the status changes at the last second of a day in UTC', async () => {
    const t = await open()
    const days = { startDate: '2026-06-02', endDate: '2026-06-02', expiryDate: '2026-06-03' }
    const { id } = (await t.create(days)).body
    await t.assign({ poapEventId: id, tagUID: uids.blank })
    for (const [status, seconds] of [
      ['future', 12 * 3600 - 1],
      ['future', 1],
      ['active', 2 * 24 * 3600 - 1],
      ['active', 1],
      ['expired', 365 * 24 * 3600],
      ['expired', 0],
    ] as const) {
      expect(await t.listed()).toMatchObject([{ id, status, otp: expect.any(String) }])
      t.clock.advance(`${seconds}s`)
    }
  })

  test('either end of a window may be open', async () => {
    const t = await open()
    await t.assign({ poapEventId: t.event, tagUID: uids.blank, startsAt: '2026-06-01T13:00:00Z' })
    expect(await t.listed()).toEqual([])
    t.clock.advance('1h')
    expect(await t.listed()).toMatchObject([{ status: 'active' }])
    t.clock.advance('8760h')
    expect(await t.listed()).toMatchObject([{ status: 'expired' }])
    await t.assign({ poapEventId: t.event, tagUID: uids.blank, endsAt: '2027-06-01T13:00:00Z' })
    expect(await t.listed()).toHaveLength(1)
    t.clock.advance('1s')
    expect(await t.listed()).toEqual([])
  })

  test('active ones come first, then the newest assignment, the same on refs and look-ups', async () => {
    const t = await open()
    const over = { startDate: '2026-05-01', endDate: '2026-05-02', expiryDate: '2026-05-03' }
    const soon = { startDate: '2026-07-01', endDate: '2026-07-02', expiryDate: '2026-07-03' }
    const ids: number[] = []
    for (const days of [{}, over, {}, soon]) ids.push((await t.create(days)).body.id)
    for (const id of ids) await t.assign({ poapEventId: id, tagUID: uids.blank })
    const [first, ended, second, future] = ids
    const order = async () => (await t.listed()).map(({ id }: { id: number }) => id)
    expect(await order()).toEqual([second, first, future, ended])
    // Another title is no newer assignment.
    await t.assign({ poapEventId: first, tagUID: uids.blank, title: 'First' })
    expect(await order()).toEqual([second, first, future, ended])
    const found = await t.find(uids.blank, 5000)
    expect(found.badgeEvent.id).toBe(second)
    expect((await t.call(`GET /otps/${found.otp.code}`)).body.badgeEvent.id).toBe(second)
  })

  test("only an active event keeps an unminted chip's own code away", async () => {
    const t = await open()
    const over = { startDate: '2026-05-01', endDate: '2026-05-02', expiryDate: '2026-05-03' }
    const { body } = await t.create(over)
    await t.assign({ poapEventId: body.id, tagUID: uids.unminted })
    const ended = await tapRef(t.app, uids.unminted)
    expect(ended).toMatchObject({ otp: expect.any(String), badgeEvents: [{ status: 'expired' }] })
    await t.assign({ poapEventId: t.event, tagUID: uids.unminted })
    const active = await tapRef(t.app, uids.unminted)
    expect(active.badgeEvents.map(({ id }: { id: number }) => id)).toEqual([t.event, body.id])
    expect(active).not.toHaveProperty('otp')
    const subject = async (counter: number) => {
      const { badgeEvent, otp } = await t.find(uids.unminted, counter)
      const { type } = (await t.call(`GET /otps/${otp.code}`)).body
      return { event: badgeEvent.id, type }
    }
    expect(await subject(5000)).toEqual({ event: t.event, type: 'POAP_EVENT' })
    t.clock.advance('1440h')
    expect(await subject(5001)).toEqual({ event: t.event, type: 'PHYGITAL_CLAIM' })
  })

  test('the tap page says when an event gives no badges', async () => {
    const t = await open()
    await t.assign({ poapEventId: t.event, tagUID: uids.blank, title: 'The party' })
    const page = async (counter: number) =>
      (await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, counter)) })).body
    const during = await page(6000)
    expect(during).toContain('The party')
    expect(during).toContain('data-action="badge"')
    t.clock.advance('1440h')
    const after = await page(6001)
    expect(after).toContain('The party')
    expect(after).toContain('This ended on July 1, 2026.')
    expect(after).not.toContain('data-action="badge"')
  })
})

test('a seed may give windows, and says which one is wrong', async () => {
  const [acme, other] = seed.teams
  const [launch] = acme?.badgeEvents ?? []
  const withChips = (chips: unknown[]) => ({
    ...seed,
    teams: [{ ...acme, badgeEvents: [{ ...launch, chips }] }, other],
  })
  const window = { startsAt: '2026-06-01T13:00:00Z', endsAt: '2026-06-01T14:00:00Z' }
  const t = await open({ seed: withChips([uids.events, { uid: uids.blank, ...window }]) })
  expect(await t.listed(uids.events)).toHaveLength(1)
  expect(await t.listed()).toEqual([])
  t.clock.advance('1h')
  expect(await t.listed()).toHaveLength(1)
  const backwards = { uid: uids.blank, startsAt: window.endsAt, endsAt: window.startsAt }
  await expect(open({ seed: withChips([backwards]) })).rejects.toThrow(
    'teams.0.badgeEvents.0.chips.0.endsAt: must not be before startsAt',
  )
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
    [{ tagUID: uids.blank, endsAt: '2026-06-01T00:00:00+25:00' }, 'endsAt'],
    [{ tagUID: uids.blank, startsAt: '2026-06-02T00:00:00Z', endsAt: '2026-06-01T00:00:00Z' }, 'endsAt'],
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
