import { afterEach, beforeEach, expect, test } from 'vitest'
import { send, type WebhookOutbound } from '../../src/daemon/domain/webhooks/send.ts'
import { Throttle } from '../../src/daemon/domain/webhooks/throttle.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { until } from '../support/fleet-senders.ts'
import { openReceiver, type Receiver } from '../support/webhooks.ts'

let t: AdminApp
let hanging: Receiver
let good: Receiver
const lines: string[] = []
beforeEach(async () => {
  hanging = await openReceiver(() => undefined)
  good = await openReceiver()
  lines.length = 0
  t = await openAdminApp({
    env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' },
    log: (line) => lines.push(line),
    logLevel: 'error',
  })
})
afterEach(async () => {
  hanging.close()
  good.close()
  await t.close()
})

const team = async (name: string): Promise<number> => (await t.call('POST /admin/teams', { name })).body.id
const webhook = (name: string, { url }: Receiver, path: number | string = '') =>
  t.call('POST /admin/webhooks', { team: name, url: `${url}/${path}` })
const record = (teamId: number, n = 0) => {
  const event = { teamId, type: 'badge.minted', at: new Date().toISOString(), data: { n } } as const
  return t.ctx.db.write((trx) => t.ctx.webhookEvents.record(trx, event))
}

test('receivers that never answer keep neither another team nor a new webhook waiting', async () => {
  const dead = [await team('One'), await team('Two')]
  for (const name of ['One', 'Two'])
    for (let n = 0; n < 20; n += 1) await webhook(name, hanging, `${name}/${n}`)
  for (const id of dead) for (const n of [1, 2, 3]) await record(id, n)
  t.ctx.webhooks.start()
  await until('as many are served as may be', async () => hanging.received.length >= 32)
  const other = await team('Other')
  await webhook('Other', good)
  await record(other)
  await good.until(({ length }) => length === 1)
  // One message at a time to each.
  expect(new Set(hanging.received.map(({ path }) => path)).size).toBe(hanging.received.length)
})

test('a webhook that cannot be decrypted keeps no other from being delivered, and is reported once', async () => {
  const teamId = await team('One')
  const { id } = (await webhook('One', good, 'broken')).body
  await webhook('One', good)
  await t.ctx.db.write((trx) =>
    trx
      .updateTable('webhooks')
      .set({ url: Buffer.from('not sealed') })
      .where('id', '=', id)
      .execute(),
  )
  t.ctx.webhooks.start()
  for (const n of [0, 1, 2]) {
    await record(teamId, n)
    await good.until(({ length }) => length === n + 1)
  }
  const listed = (await t.call('GET /admin/webhooks')).body
  expect(listed.map(({ url }: { url: string }) => url)).toEqual([
    `${new URL(good.url).origin}/…`,
    `${good.url}/`,
  ])
  expect((await t.call(`PATCH /admin/webhooks/${id}`, { disabled: true })).status).toBe(200)
  expect(lines.map((line) => JSON.parse(line).err.message)).toEqual([
    expect.stringContaining(`Webhook ${id} cannot be decrypted`),
  ])
})

test('what was answered before a try that hangs is not sent again after a stop', async () => {
  const receiver = await openReceiver(({ data }, response) => {
    if (data.n < 3) response.writeHead(204).end()
  })
  const teamId = await team('One')
  await webhook('One', receiver)
  for (const n of [1, 2, 3]) await record(teamId, n)
  t.ctx.webhooks.start()
  await receiver.until(({ length }) => length === 3)
  await t.ctx.webhooks.stop()
  receiver.close()
  const rows = await t.ctx.db.read.selectFrom('webhookDeliveries').select('outcome').orderBy('id').execute()
  expect(rows.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered', null])
})

test('a slow receiver gets new messages beside those that it refuses again and again', async () => {
  const slow = await openReceiver((_received, response) => {
    setTimeout(() => response.writeHead(500).end(), 1100)
  })
  const teamId = await team('One')
  await webhook('One', slow)
  for (const n of [1, 2, 3, 4]) await record(teamId, n)
  const failed = { attempts: 1, dueAt: new Date(0).toISOString() }
  await t.ctx.db.write((trx) => trx.updateTable('webhookDeliveries').set(failed).execute())
  await record(teamId, 5)
  t.ctx.webhooks.start()
  const received = await slow.until(({ length }) => length === 2)
  slow.close()
  expect(received.map(({ data }) => data.n).sort()).toEqual([expect.any(Number), 5])
})

test('while writes fail, there is a run every few seconds and one line, and nothing is lost', async () => {
  const teamId = await team('One')
  await webhook('One', good)
  await record(teamId)
  const { db } = t.ctx
  const { write } = db
  let writes = 0
  db.write = () => {
    writes += 1
    return Promise.reject(new Error('disk is full'))
  }
  t.ctx.webhooks.start()
  await until('a write has failed', async () => writes > 0)
  for (let n = 0; n < 15; n += 1) {
    t.ctx.webhooks.recorded()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(writes).toBeLessThan(4)
  const failures = lines.filter((line) => line.includes('webhooks could not be delivered'))
  expect(failures).toHaveLength(1)
  db.write = write
  await good.until(({ length }) => length === 1)
})

test('Retry-After is heeded at each try, up to six hours', async () => {
  const now = Date.now()
  const clock = { now: () => now, confirmedTime: () => now, monotonic: () => 0 }
  const at = new Date(now).toISOString()
  const delivery = {
    ...{ id: 1, messageId: 'a', type: 'tap.valid', at, data: '{}', attempts: 0, resentAt: null },
  }
  const dueIn = async (seconds: string) => {
    const outbound: WebhookOutbound = {
      whyNot: () => undefined,
      post: async () => ({ status: 503, headers: { 'retry-after': seconds } }),
    }
    const deps = { outbound, clock, auditHead: () => '', tried: () => undefined }
    const { dueAt } = await send(deps, delivery, { url: 'https://example.com', secrets: [] })
    return Math.round((Date.parse(dueAt ?? '') - now) / 1000)
  }
  expect([await dueIn('1'), await dueIn('60'), await dueIn('86400')]).toEqual([2, 60, 21_600])
})

test('tries are held back only while many taps keep the event loop busy', () => {
  let now = 0
  let share = 0.99
  const throttle = new Throttle({ monotonic: () => now, utilization: () => share })
  throttle.delayMs()
  /** Milliseconds that each of four tries has to wait. */
  const delays = (events: number): number[] => {
    for (let n = 0; n < events; n += 1) throttle.recorded()
    now += 100
    return [0, 1, 2, 3].map(() => throttle.delayMs())
  }
  expect(delays(100)).toEqual([0, 25, 50, 75])
  expect(delays(0)).toEqual([0, 0, 0, 0])
  share = 0.5
  expect(delays(100)).toEqual([0, 0, 0, 0])
})
