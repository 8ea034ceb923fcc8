import { expect, onTestFinished, test } from 'vitest'
import { deviceHashOf } from '../../src/daemon/domain/badge-events/recipient.ts'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { type BadgeApp, openBadgeApp, openEvent, wallet } from '../support/badges.ts'
import { testClock } from '../support/daemon.ts'
import { acmeKey, derived, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const open = async (env: Record<string, string> = {}) => {
  const clock = testClock()
  const t = await openBadgeApp({ clock, env })
  onTestFinished(() => t.close())
  return { t, clock }
}

const email = 'Ada@example.com'

const everythingIn = async ({ ctx }: BadgeApp): Promise<string> => {
  const tables = ['badgeClaims', 'taps', 'spentCodes', 'audit', 'idempotencyKeys', 'settings'] as const
  const rows = await Promise.all(tables.map((table) => ctx.db.read.selectFrom(table).selectAll().execute()))
  return JSON.stringify(rows)
}

test('an email address becomes a keyed hash after its days, and its badge stays', async () => {
  const { t, clock } = await open()
  const event = await openEvent(t)
  const answer = await t.mint(await event.code(), { recipient: email, poapEventId: event.id })
  expect(answer.status).toBe(200)
  clock.advance('89d')
  await deleteOld(t.ctx)
  const claims = async () => (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
  expect(await claims()).toMatchObject([{ recipient: email }])
  clock.advance('2d')
  await deleteOld(t.ctx)
  expect(await claims()).toMatchObject([
    { recipient: expect.stringMatching(/^email:[\w-]{43}$/), state: 'claimed' },
  ])
  expect((await everythingIn(t)).toLowerCase()).not.toContain(email.toLowerCase())
  // Later claims are reached as well.
  await deleteOld(t.ctx)
  expect(await claims()).toHaveLength(1)
})

test('a claim that never finishes keeps no later email address', async () => {
  const { t, clock } = await open()
  const event = await openEvent(t, { requestedCodes: '20' })
  for (const recipient of [wallet(1), email])
    expect((await t.mint(await event.code(), { recipient, poapEventId: event.id })).status).toBe(200)
  const claims = () =>
    t.ctx.db.read.selectFrom('badgeClaims').select(['id', 'recipient', 'state']).orderBy('id').execute()
  const [first] = await claims()
  await t.ctx.db.write((trx) =>
    trx
      .updateTable('badgeClaims')
      .set({ state: 'open', recipient: 'Bob@example.com' })
      .where('id', '=', first?.id ?? 0)
      .execute(),
  )
  clock.advance('91d')
  await deleteOld(t.ctx)
  await deleteOld(t.ctx)
  expect((await claims()).map(({ recipient }) => recipient)).toEqual([
    'Bob@example.com',
    expect.stringMatching(/^email:/),
  ])
  await t.ctx.db.write((trx) => trx.updateTable('badgeClaims').set({ state: 'claimed' }).execute())
  await deleteOld(t.ctx)
  expect((await claims())[0]?.recipient).toMatch(/^email:/)
})

test('a device is recognized without its ID being stored', async () => {
  const { t, clock } = await open()
  const event = await openEvent(t, { requestedCodes: '20', expiryDate: '2030-01-01', endDate: '2029-01-01' })
  let minted = 0
  const mint = async (deviceId: string) => {
    const recipient = wallet(++minted)
    return (await t.mint(await event.code(), { recipient, poapEventId: event.id, deviceId })).status
  }
  expect(await mint('phone')).toBe(200)
  expect(await mint('tablet')).toBe(200)
  const stored = await t.ctx.db.read.selectFrom('badgeClaims').select('deviceHash').orderBy('id').execute()
  expect(stored.map(({ deviceHash }) => deviceHash)).toEqual(
    ['phone', 'tablet'].map((device) => deviceHashOf(t.ctx.box, device)),
  )
  clock.advance('800d')
  await deleteOld(t.ctx)
  expect([await mint('phone'), await mint('tablet'), await mint('watch')]).toEqual([400, 400, 200])
  expect(await everythingIn(t)).not.toMatch(/phone|tablet|watch/)
})

test('a tap stays as long as its refs and codes may live, if that is longer', async () => {
  const week = String(7 * 86_400)
  const { t, clock } = await open({ TAPCHIP_KEEP_TAPS_DAYS: '1', TAPCHIP_OTP_TTL_SECONDS: week })
  const find = async (counter: number) =>
    (await t.call(`GET ${tapPath(tap(derived, { uid: uids.events }, counter), '/chips/find')}`)).body
  const { code } = (await find(1)).otp
  clock.advance('6d')
  // The newest tap stays in any case.
  await find(2)
  await deleteOld(t.ctx)
  expect((await t.call(`GET /otps/${code}`)).body).toMatchObject({ isExpired: false })
})

test('taps, refs, and codes go after their days, and no old tap is valid again', async () => {
  const { t, clock } = await open()
  const first = tap(derived, { uid: uids.blank }, 700)
  const page = await t.app.inject({ url: tapPath(first) })
  const ref = /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
  const find = async () =>
    (await t.call(`GET ${tapPath(tap(derived, { uid: uids.events }, ++events), '/chips/find')}`)).body
  let events = 0
  const [code, deleted] = [(await find()).otp.code, (await find()).otp.code]
  await t.call(`DELETE /otps/${deleted}`, undefined, { 'x-svc-api-key': acmeKey })
  for (let counter = 1; counter <= 600; counter += 1)
    await t.ctx.db.write((trx) =>
      trx
        .insertInto('taps')
        .values({
          at: new Date(clock.now()).toISOString(),
          chipUid: null,
          teamId: null,
          keySetId: null,
          counter,
          outcome: 'replayed',
          via: 'find',
        })
        .execute(),
    )
  const count = async (table: 'taps' | 'spentCodes') =>
    (await t.ctx.db.read.selectFrom(table).selectAll().execute()).length
  const counted = async () => (await t.call('GET /admin/status')).body.counts.taps
  clock.advance('729d')
  await deleteOld(t.ctx)
  await cleanUp(t.ctx)
  expect([await count('taps'), await count('spentCodes')]).toEqual([603, 1])
  expect((await t.call(`GET /refs/${ref}`)).body.isValidRef).toBe(false)
  expect((await t.call(`GET /otps/${code}`)).body.isExpired).toBe(true)
  clock.advance('2d')
  // Two slices.
  await deleteOld(t.ctx)
  await cleanUp(t.ctx)
  expect([await count('taps'), await count('spentCodes'), await counted()]).toEqual([1, 0, 1])
  for (const gone of [`refs/${ref}`, `otps/${code}`, `otps/${deleted}`])
    expect((await t.call(`GET /${gone}`)).status).toBe(404)
  expect((await t.call(`GET ${tapPath(first, '/chips/find')}`)).body.isValidTap).toBe(false)
  const [chip] = await t.ctx.db.read
    .selectFrom('chips')
    .select('lastCounter')
    .where('lastCounter', '>', 2)
    .execute()
  expect(chip?.lastCounter).toBe(700)
  const next = tap(derived, { uid: uids.blank }, 701)
  expect((await t.call(`GET ${tapPath(next, '/chips/find')}`)).body.isValidTap).toBe(true)
  await t.ctx.tapLog.flush()
  const listed = (await t.call('GET /admin/taps')).body
  expect(listed.length).toBe(await counted())
})

test('a jump of the clock deletes nothing, and nothing is deleted where the days are off', async () => {
  const { t, clock } = await open()
  await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1)) })
  await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 2)) })
  const count = async () => (await t.ctx.db.read.selectFrom('taps').selectAll().execute()).length
  clock.jump('3000d')
  await deleteOld(t.ctx)
  expect(await count()).toBe(2)

  const off = await open({ TAPCHIP_KEEP_TAPS_DAYS: 'off', TAPCHIP_KEEP_EMAILS_DAYS: 'off' })
  await off.t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1)) })
  await off.t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 2)) })
  off.clock.advance('3000d')
  await deleteOld(off.t.ctx)
  expect(await off.t.ctx.db.read.selectFrom('taps').selectAll().execute()).toHaveLength(2)
})
