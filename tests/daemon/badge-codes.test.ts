import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { migrations } from '../../src/daemon/store/migrations/index.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
import { openPoapApp, wallet } from '../support/badges.ts'
import { type Fault, faults } from '../support/poap/faults.ts'
import { uids } from '../support/seeds.ts'

const claimUrl = 'POST /actions/claim-qr'
const lookUpUrl = 'GET /actions/claim-qr'
const codesUrl = 'POST /event/{id}/qr-codes'
type Test = Awaited<ReturnType<typeof openPoapApp>>
type Event = Awaited<ReturnType<Test['event']>>
async function listed(t: Test, id: number) {
  const { body } = await t.call('GET /admin/badge-events')
  return body.find((one: { id: number }) => one.id === id)
}
const states = (t: Test, event: Event) =>
  t.ctx.db.read
    .selectFrom('badgeCodes')
    .select(['number', 'state'])
    .where('badgeEventId', '=', event.id)
    .orderBy('number')
    .execute()
    .then((rows) => rows.map(({ state }) => state))
const notFound = (more: object = { statusCode: 404, error: 'Not Found' }): Fault =>
  faults.status(404, { ...more, message: 'Not Found' })

describe('codes that POAP gave', () => {
  test('asked about again, none that is taken is numbered anew', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    expect((await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })).status).toBe(
      200,
    )
    const before = await t.ctx.db.read.selectFrom('badgeCodes').selectAll().execute()
    await t.ctx.db.write((trx) =>
      trx.updateTable('poapEvents').set({ pollAt: '2026-01-01T00:00:00.000Z' }).execute(),
    )
    await t.ctx.badges.tick()
    expect(await t.ctx.db.read.selectFrom('badgeCodes').selectAll().execute()).toEqual(before)
    expect(await listed(t, event.id)).toMatchObject({ status: 'active', remainingCodesCount: 4 })
  })

  test('approval and the end of asking are one write: killed before it, all is asked again; after it, nothing', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    t.poap.approve(body.poapResponse.id)
    const { db } = t.ctx
    const write = db.write.bind(db)
    let left = 1
    const spy = vi
      .spyOn(db, 'write')
      .mockImplementation((job) => (left-- > 0 ? write(job) : Promise.reject(new Error('killed'))))
    await t.ctx.badges.tick()
    spy.mockRestore()
    // The codes are there, and the event is not approved yet.
    expect((await listed(t, body.id)).status).toBe('pending-approval')
    expect((await db.read.selectFrom('badgeCodes').selectAll().execute()).length).toBe(5)
    t.clock.advance('1h')
    await t.ctx.badges.tick()
    expect(await listed(t, body.id)).toMatchObject({ status: 'active', remainingCodesCount: 5 })
    expect((await db.read.selectFrom('badgeCodes').selectAll().execute()).length).toBe(5)
    const { pollAt } = await db.read.selectFrom('poapEvents').selectAll().executeTakeFirstOrThrow()
    expect(pollAt).toBeNull()
  })

  test('that come later are taken up, for a week, and only added', async () => {
    const t = await openPoapApp()
    const { body } = await t.create({ expiryDate: '2026-12-01' })
    await t.assign({ poapEventId: body.id, tagUID: uids.blank, endsAt: '2026-12-01T00:00:00Z' })
    const upstreamId = body.poapResponse.id
    t.poap.approve(upstreamId, 2)
    await t.ctx.badges.tick()
    const event = { id: body.id, upstreamId }
    expect(await listed(t, event.id)).toMatchObject({ status: 'active', remainingCodesCount: 2 })
    const code = (await t.codes()).get(event.id) ?? ''
    expect((await t.mint(code, { recipient: wallet(1), poapEventId: event.id })).status).toBe(200)
    t.poap.approve(upstreamId, 4)
    await t.ctx.badges.tick()
    expect((await listed(t, event.id)).remainingCodesCount).toBe(1)
    t.clock.advance('2h')
    await t.ctx.badges.tick()
    expect((await listed(t, event.id)).remainingCodesCount).toBe(3)
    const asked = t.poap.count(codesUrl)
    t.clock.advance('10m')
    await t.ctx.badges.tick()
    expect(t.poap.count(codesUrl)).toBe(asked)
    // A request for more that is open, or refused, takes nothing away.
    t.poap.event(upstreamId).isOpen = true
    t.clock.advance('2h')
    await t.ctx.badges.tick()
    expect(await listed(t, event.id)).toMatchObject({ status: 'active', remainingCodesCount: 3 })
    t.clock.advance('8d')
    await t.ctx.badges.tick()
    const last = t.poap.count(codesUrl)
    t.clock.advance('2d')
    await t.ctx.badges.tick()
    expect(t.poap.count(codesUrl)).toBe(last)
  })
})

describe('codes that cannot be had', () => {
  test('a gateway that finds no way burns no code', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(lookUpUrl, ...Array<Fault>(10).fill(notFound({})))
    const code = await event.code()
    const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect(await mint()).toMatchObject({ status: 503, body: { code: 'badge_unavailable' } })
    expect(t.poap.count(lookUpUrl)).toBe(1)
    expect(await states(t, event)).toEqual(Array(5).fill('free'))
    expect((await listed(t, event.id)).remainingCodesCount).toBe(5)
    expect(await t.isGood(code)).toBe(true)
  })

  test("a 404 of POAP's own is checked with the event's codes", async () => {
    const t = await openPoapApp()
    const event = await t.event()
    t.poap.fail(lookUpUrl, notFound())
    const code = await event.code()
    const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect((await mint()).status).toBe(503)
    expect(await states(t, event)).toEqual(Array(5).fill('free'))
    expect((await listed(t, event.id)).remainingCodesCount).toBe(5)
    expect((await mint()).status).toBe(200)
  })

  test('one that POAP has taken back is lost; two in a row are believed of neither', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    const { codes } = t.poap.event(event.upstreamId)
    codes.splice(0, 1)
    const mint = async (n: number) =>
      (await t.mint(await event.code(), { recipient: wallet(n), poapEventId: event.id })).status
    expect(await mint(1)).toBe(200)
    expect(await states(t, event)).toEqual(['lost', 'taken', 'free', 'free', 'free'])
    expect((await listed(t, event.id)).remainingCodesCount).toBe(3)
    codes.splice(1, 2)
    expect(await mint(2)).toBe(503)
    expect(await states(t, event)).toEqual(['lost', 'taken', 'free', 'free', 'free'])
    expect((await listed(t, event.id)).remainingCodesCount).toBe(3)
    // They stand behind the others now.
    expect(await mint(2)).toBe(200)
  })

  test('one that is not active is passed over, and comes again when it is', async () => {
    const t = await openPoapApp()
    const event = await t.event({ requestedCodes: '2' })
    const [first] = t.poap.event(event.upstreamId).codes
    if (first) first.isActive = false
    const mint = async (n: number) =>
      t.mint(await event.code(), { recipient: wallet(n), poapEventId: event.id })
    expect((await mint(1)).status).toBe(200)
    expect((await listed(t, event.id)).remainingCodesCount).toBe(1)
    expect(await mint(2)).toMatchObject({ status: 400, body: { message: 'QR Claim is not active' } })
    expect((await listed(t, event.id)).remainingCodesCount).toBe(1)
    if (first) first.isActive = true
    expect((await mint(2)).status).toBe(200)
  })

  test('where none is active, a few are tried and none is lost', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    for (const code of t.poap.event(event.upstreamId).codes) code.isActive = false
    const answer = await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    expect(answer).toMatchObject({ status: 400, body: { code: 'badge_refused' } })
    expect(t.poap.count(lookUpUrl)).toBe(3)
    expect(await states(t, event)).toEqual(Array(5).fill('free'))
    expect((await listed(t, event.id)).remainingCodesCount).toBe(5)
  })

  test('after a refusal that is not about the recipient the next mint takes another', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    const refusal = { statusCode: 400, error: 'Bad Request', message: 'QR Claim is not active' }
    t.poap.fail(claimUrl, faults.status(400, refusal))
    const code = await event.code()
    const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect(await mint()).toMatchObject({ status: 400, body: { message: refusal.message } })
    expect((await mint()).status).toBe(200)
    expect(await states(t, event)).toEqual(['free', 'taken', 'free', 'free', 'free'])
  })
})

test('while POAP wants to be left alone, mints are a 503 at once', async () => {
  const t = await openPoapApp()
  const event = await t.event()
  const code = await event.code()
  const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
  t.poap.fail(claimUrl, faults.rateLimit('30'))
  expect((await mint()).status).toBe(503)
  const seen = t.poap.seen.length
  t.clock.advance('20s')
  const { status, headers } = await mint()
  expect([status, Number(headers['retry-after'])]).toEqual([503, 10])
  expect(t.poap.seen.length).toBe(seen)
  t.clock.advance('10s')
  expect((await mint()).status).toBe(200)
})

test('a database from before keeps its events, assignments and their numbers', async () => {
  const { kysely: db, connection } = openSqlite(':memory:', { readonly: false })
  onTestFinished(() => db.destroy())
  const steps = Object.entries(migrations).sort(([a], [b]) => (a < b ? -1 : 1))
  const run = (from: number, to: number) =>
    db.transaction().execute(async (trx) => {
      for (const [, migration] of steps.slice(from, to)) await migration.up(trx)
    })
  await run(0, 3)
  connection.exec(`
    insert into teams (id, name, createdAt) values (1, 'Acme', 'x');
    insert into badgeEvents (id, createdAt, teamId, name, description, city, country, startDate, endDate, expiryDate,
      eventUrl, privateEvent, virtualEvent, requestedCodes, remainingCodes, upstreamId, approval)
      values (7, 'x', 1, 'A', '', '', '', '', '', '', '', 0, 0, 5, 5, 100000, 'approved');
    insert into badgeAssignments (id, badgeEventId, title, description, createdAt) values (3, 7, 't', 'd', 'x');
  `)
  const before = connection.prepare('select * from badgeAssignments').all()
  await run(3, 4)
  expect(connection.prepare('select * from badgeAssignments').all()).toEqual(before)
  expect(connection.prepare('select id, upstreamId, provider, approval from badgeEvents').all()).toEqual([
    { id: 7, upstreamId: 100_000, provider: 'embedded', approval: 'approved' },
  ])
  expect(connection.pragma('foreign_key_check')).toEqual([])
  expect(() => connection.exec('delete from badgeEvents')).toThrow(/FOREIGN KEY/)
})
