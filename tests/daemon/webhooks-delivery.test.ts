import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { endWhatWasOpen } from '../../src/daemon/store/backup/restored.ts'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openReceiver, type Receiver, signaturesBy } from '../support/webhooks.ts'

let t: AdminApp
let clock: TestClock
const open: Receiver[] = []
const receiving = async (...answer: Parameters<typeof openReceiver>) => {
  const receiver = await openReceiver(...answer)
  open.push(receiver)
  return receiver
}
beforeEach(async () => {
  clock = testClock()
  t = await openAdminApp({ seed, clock, env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' } })
  t.ctx.webhooks.start()
})
afterEach(async () => {
  for (const receiver of open.splice(0)) receiver.close()
  await t.close()
})

const register = async (receiver: Receiver, events = ['tap.valid']) =>
  (await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url, events })).body

let counter = 0
const taps = async (count: number, uid: string = uids.blank) => {
  for (let n = 0; n < count; n += 1) {
    counter += 1
    await t.app.inject({ url: tapPath(tap(derived, { uid }, counter), '/chips/find') })
  }
}
/** Later by the clock, and the deliverer knows. */
const later = async (span: string) => {
  clock.advance(span)
  await t.ctx.webhooks.changed()
}
const deliveries = async (query = '') => (await t.call(`GET /admin/webhook-deliveries?${query}`)).body
/** What the store says of the deliveries, once it says so of all. */
const settled = async (state: string, count: number) => {
  for (;;) {
    const listed = await deliveries(`state=${state}`)
    if (listed.length >= count) return listed
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a message that fails comes again within ten seconds, the same but for its time, and others overtake it', async () => {
  const receiver = await receiving()
  const seen = new Set<string>()
  receiver.answerWith(({ id, data }, response) => {
    const isFirst = data.uid === BigInt(`0x${uids.blank}`).toString() && !seen.has(id)
    seen.add(id)
    response.writeHead(isFirst ? 503 : 200).end('x'.repeat(isFirst ? 0 : 100_000))
  })
  await register(receiver)
  await taps(1)
  await taps(1, uids.events)
  await settled('delivered', 1)
  const [waiting] = await deliveries('state=waiting')
  expect(waiting).toMatchObject({ attempts: 1, statusCode: 503, error: 'the receiver answered 503' })
  expect(Date.parse(waiting.nextTryAt) - clock.now()).toBeLessThan(10_000)
  await later('10s')
  const delivered = await settled('delivered', 2)
  expect(delivered.find(({ id }: { id: number }) => id === waiting.id)).toMatchObject({
    attempts: 2,
    statusCode: 200,
  })
  const [first, , again] = receiver.received
  expect(again).toMatchObject({ id: first?.id, text: first?.text })
  expect(again?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp'])

  clock.advance('6d')
  await deleteOld(t.ctx)
  expect(await deliveries()).toHaveLength(2)
  clock.advance('2d')
  await deleteOld(t.ctx)
  expect(await deliveries()).toEqual([])
})

test("a chip's first tries come in order, and a receiver that never answers keeps no other waiting", async () => {
  const hanging = await receiving(() => undefined)
  let underWay = 0
  let mostUnderWay = 0
  const good = await receiving((_received, response) => {
    underWay += 1
    mostUnderWay = Math.max(mostUnderWay, underWay)
    setTimeout(() => {
      underWay -= 1
      response.writeHead(200).end()
    }, 3)
  })
  await register(hanging)
  await register(good)
  const from = counter
  await taps(12)
  await taps(6, uids.events)
  const all = await good.until(({ length }) => length === 18)
  const of = (uid: string) => all.filter(({ data }) => data.uid === BigInt(`0x${uid}`).toString())
  expect(of(uids.blank).map(({ data }) => data.counter - from)).toEqual(
    Array.from({ length: 12 }, (_, n) => n + 1),
  )
  expect(of(uids.events).map(({ data }) => data.counter - from)).toEqual(
    Array.from({ length: 6 }, (_, n) => n + 13),
  )
  expect(mostUnderWay).toBe(1)
  expect(hanging.received.length).toBe(1)
})

test('410 disables the webhook, what waits is dropped, and once enabled, only new events are told', async () => {
  const receiver = await receiving((_received, response) => response.writeHead(410).end())
  const { id } = await register(receiver)
  const { id: teamId } = await t.ctx.db.read
    .selectFrom('teams')
    .select('id')
    .where('name', '=', 'Acme')
    .executeTakeFirstOrThrow()
  const at = new Date(clock.now()).toISOString()
  const event = { teamId, type: 'tap.valid', at, data: {}, chipUid: '1' } as const
  await t.ctx.db.write(async (trx) => {
    for (let n = 0; n < 3; n += 1) await t.ctx.webhookEvents.record(trx, event)
  })
  await settled('dropped', 3)
  expect(receiver.received).toHaveLength(1)
  const [webhook] = (await t.call('GET /admin/webhooks?team=Acme')).body
  const reason = 'the receiver answered 410 Gone'
  expect(webhook).toMatchObject({ disabledReason: reason })
  const { webhooks } = (await t.call('GET /admin/status')).body
  expect(webhooks).toEqual({ enabled: 0, failed: [{ id, reason }] })
  expect(await t.audit('action=webhooks.disable')).toMatchObject([{ actor: 'daemon', team: 'Acme' }])
  await taps(1)
  receiver.answerWith((_received, response) => response.writeHead(200).end())
  await t.call(`PATCH /admin/webhooks/${id}`, { disabled: false })
  expect(await deliveries('state=waiting')).toEqual([])
  expect(await deliveries()).toHaveLength(3)
  await taps(1)
  expect(await settled('delivered', 1)).toHaveLength(1)
  const last = receiver.received.at(-1)
  expect(last?.data.counter).toBe(counter)
})

test('a test is one try; what failed is sent again on request, once, under its own ID', async () => {
  const target = await receiving()
  const receiver = await receiving((_received, response) =>
    response.writeHead(302, { location: target.url }).end(),
  )
  const { id, secret } = await register(receiver)
  const tested = await t.call(`POST /admin/webhooks/${id}/test`)
  expect(tested.body).toMatchObject({
    ...{ type: 'webhook.test', state: 'failed', statusCode: 302, attempts: 1 },
    error: 'the receiver answered 302: redirects are not followed',
  })
  expect(target.received).toEqual([])
  receiver.answerWith((_received, response) => response.writeHead(201).end())
  const again = () => t.call(`POST /admin/webhook-deliveries/${tested.body.id}/redeliver`)
  // Each that is answered before the next one begins finds it settled again.
  const counts = await tenTimes(again)
  expect(Object.keys(counts).every((status) => ['200', '409'].includes(status))).toBe(true)
  expect(receiver.received).toHaveLength(1 + (counts[200] ?? 0))
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1)
  expect((await deliveries())[0]).toMatchObject({ state: 'delivered', statusCode: 201 })

  // Eight at a time, since these do not wait for others.
  const held: (() => void)[] = []
  receiver.answerWith((_received, response) => {
    held.push(() => response.writeHead(200).end())
    if (held.length >= 8) for (const end of held.splice(0)) end()
  })
  expect(await tenTimes(() => t.call(`POST /admin/webhooks/${id}/test`))).toEqual({ 200: 8, 409: 2 })
  receiver.answerWith((_received, response) => response.writeHead(201).end())

  const rolled = (await t.call(`POST /admin/webhooks/${id}/roll`)).body
  await t.call(`POST /admin/webhooks/${id}/test`)
  const [both] = receiver.received.slice(-1)
  expect(both && [signaturesBy(secret, both), signaturesBy(rolled.secret, both)]).toEqual([1, 1])
  clock.advance('2d')
  await t.call(`POST /admin/webhooks/${id}/test`)
  const [one] = receiver.received.slice(-1)
  expect(one && [signaturesBy(secret, one), signaturesBy(rolled.secret, one)]).toEqual([0, 1])
})

test('what a restored backup has waiting is not sent again, and a removed webhook leaves nothing behind', async () => {
  const receiver = await receiving((_received, response) => response.writeHead(500).end())
  const { id } = await register(receiver)
  await taps(2)
  for (;;) {
    const failed = (await deliveries()).filter(({ attempts }: { attempts: number }) => attempts === 1)
    if (failed.length === 2) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await t.ctx.db.write((trx) => endWhatWasOpen(trx, new Date(clock.now()).toISOString()))
  expect((await deliveries()).map(({ state }: { state: string }) => state)).toEqual(['dropped', 'dropped'])
  expect((await deliveries())[0].error).toContain('restored')
  expect((await t.call(`DELETE /admin/webhooks/${id}`)).status).toBe(200)
  for (const table of ['webhooks', 'webhookDeliveries'] as const)
    expect(await t.ctx.db.read.selectFrom(table).select('id').execute()).toEqual([])
})
