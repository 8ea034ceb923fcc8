import { describe, expect, test, vi } from 'vitest'
import { openPoapApp } from '../support/badges.ts'
import { faults } from '../support/poap/faults.ts'

type Test = Awaited<ReturnType<typeof openPoapApp>>

describe('an event on its way to POAP', () => {
  const key = { 'idempotency-key': 'spring' }
  const creations = (t: Test) => t.ctx.db.read.selectFrom('poapCreations').selectAll().execute()

  test.each([
    ['carried out and not answered', faults.dropAfter, 1],
    ['not answered', faults.dropBefore, 0],
  ])('%s: a repetition creates no second one, and its secret code is kept', async (_what, fault, events) => {
    const t = await openPoapApp()
    t.poap.fail('POST /events', fault)
    expect((await t.create({}, { headers: key })).status).toBe(503)
    const again = await t.create({}, { headers: key })
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(again.body.message).toContain('e-mail')
    expect(t.poap.ledger.events.size).toBe(events)
    const [row] = await creations(t)
    expect(row).toMatchObject({ name: 'Opening night', key: 'spring' })
    const secret = t.ctx.box.open(row?.secretCode ?? Buffer.alloc(0), `poapCreations:${row?.id}:secretCode`)
    expect(secret.toString()).toMatch(/^\d{6}$/)
    for (const { secretCode } of t.poap.ledger.events.values()) expect(secret.toString()).toBe(secretCode)
    // Also when the key itself is forgotten.
    t.clock.advance('2d')
    await t.ctx.db.write((trx) => trx.deleteFrom('idempotencyKeys').execute())
    expect((await t.create({}, { headers: key })).status).toBe(409)
    expect((await t.create({}, { headers: { 'idempotency-key': 'again' } })).status).toBe(200)
  })

  test('what could not be kept after the answer is kept from before', async () => {
    const t = await openPoapApp()
    const { db } = t.ctx
    const write = db.write.bind(db)
    let left = 1
    const spy = vi
      .spyOn(db, 'write')
      .mockImplementation((job) => (left-- > 0 ? write(job) : Promise.reject(new Error('killed'))))
    expect((await t.create({}, { headers: key })).status).toBe(500)
    spy.mockRestore()
    expect(await creations(t)).toHaveLength(1)
    expect((await t.create({}, { headers: key })).status).toBe(409)
    expect(t.poap.ledger.events.size).toBe(1)
  })

  test('created, refused or not sent it leaves nothing behind', async () => {
    const t = await openPoapApp()
    const first = await t.create({}, { headers: key })
    const again = await t.create({}, { headers: key })
    expect([first.status, again.body]).toEqual([200, first.body])
    const other = { 'idempotency-key': 'other' }
    t.poap.fail('POST /events', faults.status(400), faults.rateLimit())
    expect((await t.create({}, { headers: other })).status).toBe(400)
    expect((await t.create({}, { headers: other })).status).toBe(503)
    expect((await t.create({}, { headers: other })).status).toBe(200)
    expect(await creations(t)).toEqual([])
    expect(t.poap.ledger.events.size).toBe(2)
  })

  test('once: ten at once make one event, at POAP as well', async () => {
    const t = await openPoapApp()
    const answers = await Promise.all(Array.from({ length: 10 }, () => t.create({}, { once: true })))
    expect(t.poap.ledger.events.size).toBe(1)
    const made = answers.filter(({ status }) => status === 200)
    // The others come while there is no answer yet.
    for (const { status } of answers) expect([200, 409]).toContain(status)
    expect(made.filter(({ body }) => !body.unchanged)).toHaveLength(1)
    const again = await t.create({}, { once: true })
    expect(again.body).toMatchObject({ id: made[0]?.body.id, unchanged: true })
    expect((await t.create()).body.id).not.toBe(again.body.id)
    expect((await t.create({ city: 'Porto' }, { once: true })).body.unchanged).toBeUndefined()
    expect(t.poap.ledger.events.size).toBe(3)
  })

  test('once: what POAP refused may be sent again, and what has no answer is created by itself', async () => {
    const t = await openPoapApp()
    t.poap.fail('POST /events', faults.status(400), faults.rateLimit(), faults.dropAfter)
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) statuses.push((await t.create({}, { once: true })).status)
    expect(statuses).toEqual([400, 503, 503, 409])
    const { body } = await t.create()
    expect((await t.create({}, { once: true })).body).toMatchObject({ id: body.id, unchanged: true })
  })

  test('may have the number of one of the embedded provider', async () => {
    const t = await openPoapApp()
    const { upstreamId } = await t.ctx.db.read
      .selectFrom('badgeEvents')
      .select('upstreamId')
      .executeTakeFirstOrThrow()
    vi.spyOn(t.poap.ledger, 'nextId').mockReturnValueOnce(upstreamId)
    const { status, body } = await t.create()
    expect({ status, id: body.poapResponse?.id }).toEqual({ status: 200, id: upstreamId })
  })
})
