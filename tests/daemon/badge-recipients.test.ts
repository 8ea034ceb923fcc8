import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { releaseClaim } from '../../src/daemon/domain/badge-events/release.ts'
import {
  type BadgeApp,
  eventForm,
  openBadgeApp,
  openEvent,
  openPoapApp,
  tapRef,
  wallet,
} from '../support/badges.ts'
import type { Options } from '../support/daemon.ts'
import { isPostgres } from '../support/postgres.ts'
import { acmeKey, uids } from '../support/seeds.ts'

const _eventRow = {
  teamId: 1,
  name: 'Earlier',
  description: '',
  city: '',
  country: '',
  startDate: '2026-05-30',
  endDate: '2026-06-02',
  expiryDate: '2026-07-01',
  eventUrl: '',
  privateEvent: 0,
  virtualEvent: 0,
  requestedCodes: 9,
  remainingCodes: 5,
  upstreamId: 100_000,
  approval: 'approved' as const,
}
const _claimRow = {
  badgeEventId: 1,
  chipUid: '0',
  state: 'claimed' as const,
  attempts: 0,
  isSent: 0,
  isAnswered: 1,
}

const words = 'You already minted a badge for this drop.'
const refused = { status: 400, body: { statusCode: 400, error: 'Bad Request', message: words } }

async function open(options: Options = {}) {
  const t = await openBadgeApp(options)
  onTestFinished(() => t.close())
  return t
}

/** Settings of daemons that have the same data, one after the other. */
function onDisk() {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-recipients-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  return { dataDir, env: { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) } }
}

let t: BadgeApp
beforeAll(async () => {
  t = await openBadgeApp()
})
afterAll(() => t.close())

/** @returns what is counted of an event */
const places = (badgeEventId: number) =>
  t.ctx.db.read
    .selectFrom('badgeRecipients')
    .select(['recipient', 'badges'])
    .where('badgeEventId', '=', badgeEventId)
    .execute()

describe('one badge a person', () => {
  test.each([
    [
      'an address in any case',
      '0x52908400098527886E0F7030069857D2E4169EE7',
      `0x${'52908400098527886e0f7030069857d2e4169ee7'}`,
    ],
    ['an email address in any case', 'Ana.Sousa@Example.org', ' ana.sousa@example.ORG '],
  ])('%s gets one, and the second code stays good', async (_what, first, second) => {
    const event = await openEvent(t)
    const other = await openEvent(t, { name: 'Another' })
    const mint = (code: string, recipient: string, poapEventId = event.id) =>
      t.mint(code, { recipient, poapEventId })
    expect((await mint(await event.code(), first)).status).toBe(200)
    const code = await event.code()
    expect(await mint(code, second)).toMatchObject(refused)
    expect(await t.isGood(code)).toBe(true)
    expect((await mint(code, wallet(9))).status).toBe(200)
    expect((await mint(await other.code(), second, other.id)).status).toBe(200)
    const [listed] = (await t.call('GET /admin/badge-events')).body.filter(
      ({ id }: { id: number }) => id === event.id,
    )
    expect(listed).toMatchObject({ requestedCodes: 5, remainingCodesCount: 3, maxPerRecipient: 1 })
  })

  test("with POAP's word on the wire, the words are POAP's own", async () => {
    const t = await open({ env: { TAPCHIP_WIRE_BADGE: 'poap' } })
    const form = await eventForm()
    const made = await t.app.inject({
      method: 'POST',
      url: '/poap-events',
      headers: { 'x-svc-api-key': acmeKey, ...form.headers },
      payload: form.payload,
    })
    const poapEventId = made.json().id
    await t.app.inject({
      method: 'POST',
      url: '/poap-events/assign',
      headers: { 'x-svc-api-key': acmeKey },
      payload: { poapEventId, tagUID: uids.blank },
    })
    const mint = async () => {
      const [{ otp }] = (await tapRef(t.app, uids.blank)).poapEvents
      const headers = { 'x-svc-code': otp }
      const payload = { recipient: wallet(1), poapEventId }
      return t.app.inject({ method: 'POST', url: '/poap-events/mint', headers, payload })
    }
    expect((await mint()).statusCode).toBe(200)
    expect((await mint()).json()).toMatchObject({
      statusCode: 400,
      message: 'You already minted a POAP for this drop.',
    })
  })

  test('of an email address, a keyed hash is counted', async () => {
    const event = await openEvent(t)
    await t.mint(await event.code(), { recipient: 'ana@example.org', poapEventId: event.id })
    expect(await places(event.id)).toEqual([
      { recipient: expect.stringMatching(/^email:[\w-]{43}$/), badges: 1 },
    ])
  })

  test.each([1, 3, 10])('ten at once of one person, of at most %i', async (most) => {
    const event = await openEvent(t, { requestedCodes: '20', maxPerRecipient: String(most) })
    const codes: string[] = []
    for (let n = 0; n < 10; n += 1) codes.push(await event.code())
    const spelled = (n: number) => (n % 2 ? 'ana@example.org' : 'ANA@EXAMPLE.org')
    const answers = await Promise.all(
      codes.map((code, n) => t.mint(code, { recipient: spelled(n), poapEventId: event.id })),
    )
    const minted = answers.map(({ status }) => status === 200)
    expect(minted.filter(Boolean)).toHaveLength(most)
    for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer).toMatchObject(refused)
    expect(await Promise.all(codes.map((code) => t.isGood(code)))).toEqual(minted.map((is) => !is))
    expect(await places(event.id)).toMatchObject([{ badges: most }])
  })

  test.each([
    ['its device has one', { deviceId: 'phone' }, 'badge_device_used'],
    ['there are no more badges', {}, 'badge_codes_gone'],
  ])('a mint that fails since %s keeps no place', async (_why, more, code) => {
    const event = await openEvent(t, { requestedCodes: code === 'badge_codes_gone' ? '1' : '9' })
    const mint = async (n: number) =>
      t.mint(await event.code(), { recipient: wallet(n), poapEventId: event.id, ...more })
    expect((await mint(1)).status).toBe(200)
    expect((await mint(2)).body.code).toBe(code)
    expect(await places(event.id)).toMatchObject([{ recipient: wallet(1), badges: 1 }])
  })

  test('a claim that is given up keeps no place', async () => {
    const event = await openEvent(t, { maxPerRecipient: '2' })
    const mint = async () =>
      (await t.mint(await event.code(), { recipient: 'ana@example.org', poapEventId: event.id })).status
    expect([await mint(), await mint(), await mint()]).toEqual([200, 200, 400])
    const { db, box } = t.ctx
    await db.write(async (trx) => {
      const claims = trx.selectFrom('badgeClaims').selectAll().where('badgeEventId', '=', event.id)
      const claim = await claims.executeTakeFirstOrThrow()
      await trx.updateTable('badgeClaims').set({ state: 'open' }).where('id', '=', claim.id).execute()
      await releaseClaim(trx, box, claim)
      // Only once.
      await releaseClaim(trx, box, claim)
    })
    expect(await places(event.id)).toMatchObject([{ badges: 1 }])
    expect([await mint(), await mint()]).toEqual([200, 400])
  })

  test('a mint that is cut off between its two writes is finished after the restart, and counts once', async () => {
    const options = onDisk()
    const before = await open(options)
    const event = await openEvent(before)
    const code = await event.code()
    const body = { recipient: wallet(1), poapEventId: event.id }
    expect((await before.mint(code, body)).status).toBe(200)
    // As the first write of a mint leaves it.
    await before.ctx.db.write((trx) =>
      trx
        .updateTable('badgeClaims')
        .set({ state: 'open', claimedAt: null, isAnswered: 0, createdAt: '2026-06-01T11:00:00.000Z' })
        .execute(),
    )
    await before.close()
    const after = await open(options)
    const another = (await after.codes()).get(event.id) ?? ''
    expect(await after.mint(another, body)).toMatchObject(refused)
    // On a database that others may use, it may still be under way elsewhere for a while.
    if (isPostgres) {
      after.ctx.start()
    } else {
      expect((await after.mint(code, { ...body, recipient: wallet(2) })).status).toBe(409)
      await after.ctx.badges.tick()
    }
    const claims = async () => (await after.call(`GET /admin/badge-events/${event.id}/claims`)).body
    await expect.poll(claims).toMatchObject([{ state: 'claimed' }])
    // Its client was never told.
    expect((await after.mint(code, body)).status).toBe(200)
    const counted = await after.ctx.db.read.selectFrom('badgeRecipients').selectAll().execute()
    expect(counted).toMatchObject([{ badges: 1 }])
  })
})

describe('maxPerRecipient', () => {
  test.each(['0', '-1', 'x', '1.5'])('%s is a 400 that names it', async (maxPerRecipient) => {
    const { status, body } = await t.create({ maxPerRecipient })
    expect(status).toBe(400)
    expect(body.message).toContain('maxPerRecipient')
  })

  test('above 1 is a 400 at POAP, where nothing is sent', async () => {
    const t = await openPoapApp()
    const { status, body } = await t.create({ maxPerRecipient: '2' })
    expect(status).toBe(400)
    expect(body.message).toContain('maxPerRecipient must be 1 at POAP')
    expect((await t.create({ maxPerRecipient: '1' })).status).toBe(200)
  })

  test('a sheet that is sent again finds its event, but for another maximum', async () => {
    const send = async (maxPerRecipient?: string) => {
      const { body } = await t.create({ name: 'Of a sheet', maxPerRecipient }, { once: true })
      return { id: body.id as number, unchanged: body.unchanged ?? false }
    }
    const first = await send()
    expect(await send('1')).toEqual({ id: first.id, unchanged: true })
    const second = await send('2')
    expect(second.unchanged).toBe(false)
    expect(await send('2')).toEqual({ id: second.id, unchanged: true })
  })
})
