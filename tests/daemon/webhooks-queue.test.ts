import { afterEach, beforeEach, expect, test } from 'vitest'
import { settledWith } from '../../src/daemon/domain/chain/transactions.ts'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { nextDeliveries } from '../../src/daemon/domain/webhooks/next-deliveries.ts'
import { disableFailing } from '../../src/daemon/domain/webhooks/webhooks.ts'
import { insertTransaction } from '../../src/daemon/store/chain/intents.ts'
import { recordTry } from '../../src/daemon/store/webhooks/webhook-queue.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { seed, uids } from '../support/seeds.ts'

// The deliverer does not run here, unless a test starts it.

let t: AdminApp
let clock: TestClock
let teamId: number

beforeEach(async () => {
  clock = testClock()
  const env = { TAPCHIP_WEBHOOKS_PRIVATE: 'on', TAPCHIP_KEEP_EMAILS_DAYS: '2' }
  t = await openAdminApp({ seed, clock, env })
  const teams = await t.ctx.db.read.selectFrom('teams').select(['id', 'name']).execute()
  teamId = teams.find(({ name }) => name === 'Acme')?.id ?? 0
})
afterEach(() => t.close())

const now = () => new Date(clock.now()).toISOString()
const register = async (events?: string[]): Promise<{ id: number }> =>
  (await t.call('POST /admin/webhooks', { team: 'Acme', url: 'http://127.0.0.1:9/in', events })).body
const record = (of: object = {}) =>
  t.ctx.db.write((trx) =>
    t.ctx.webhookEvents.record(trx, { teamId, type: 'badge.minted', at: now(), data: {}, ...of }),
  )
const rows = () => t.ctx.db.read.selectFrom('webhookDeliveries').selectAll().orderBy('id').execute()
const change = (id: number, set: object) =>
  t.ctx.db.write((trx) => trx.updateTable('webhooks').set(set).where('id', '=', id).execute())

const transaction = () => {
  const of = {
    teamId,
    chainId: 31337,
    signer: 'relayer',
    kind: 'transfer',
    topic: null,
    subject: '{}',
  } as const
  const call = { to: null, data: null, gas: null, builder: null, args: null }
  return t.ctx.db.write((trx) => insertTransaction(trx, { ...of, ...call, createdAt: now() }))
}

test('refused taps, which anyone can cause, never fill the queue of a receiver that is down', async () => {
  await register()
  const refused = { at: now(), chipUid: uids.blank, teamId, outcome: 'wrong_mac' } as never
  await t.ctx.db.write(async (trx) => {
    for (let n = 0; n < 1200; n += 1) {
      if (n % 60 === 0) clock.advance('1m')
      await t.ctx.webhookEvents.refusedTaps([refused])(trx)
    }
  })
  expect(await rows()).toHaveLength(1001)
  await record()
  expect(await rows()).toHaveLength(1002)
})

test('refused taps are counted once, however often their write is run', async () => {
  await register()
  const refused = { at: now(), chipUid: uids.blank, teamId, outcome: 'wrong_mac' } as never
  const before = (await rows()).length
  for (let n = 0; n < 100; n += 1) {
    const tell = t.ctx.webhookEvents.refusedTaps([refused])
    for (const run of [1, 2])
      await t.ctx.db
        .write(async (trx) => {
          await tell(trx)
          if (run === 1) throw new Error('a conflict')
        })
        .catch(() => undefined)
  }
  expect((await rows()).length - before).toBe(60)
})

test('what dropped deliveries hold goes with the days of emails, and by number at once', async () => {
  const { id } = await register()
  await record()
  // As if the daemon had been killed while it dropped.
  await change(id, { disabledAt: now() })
  t.ctx.webhooks.start()
  while ((await rows()).some(({ settledAt }) => settledAt === null)) await new Promise(setImmediate)
  clock.advance('1d')
  await deleteOld(t.ctx)
  expect(await rows()).toMatchObject([{ outcome: 'dropped' }])
  clock.advance('2d')
  await deleteOld(t.ctx)
  expect(await rows()).toEqual([])

  await t.call(`PATCH /admin/webhooks/${id}`, { disabled: false })
  await t.ctx.db.write(async (trx) => {
    const event = { teamId, type: 'badge.minted', at: now(), data: {} } as const
    for (let n = 0; n < 10_050; n += 1) await t.ctx.webhookEvents.record(trx, event)
  })
  await t.call(`PATCH /admin/webhooks/${id}`, { disabled: true })
  expect(await rows()).toHaveLength(10_000)
})

test('a message that was dropped before its first try says the hash that was signed since, once it is sent again', async () => {
  const { id } = await register()
  const transactionId = await transaction()
  await record({ transactionId, data: { initialTxHash: null } })
  await t.call(`PATCH /admin/webhooks/${id}`, { disabled: true })
  await t.call(`PATCH /admin/webhooks/${id}`, { disabled: false })
  await t.ctx.db.write((trx) =>
    trx.updateTable('transactions').set({ firstHash: '0x01' }).where('id', '=', transactionId).execute(),
  )
  const [dropped] = await rows()
  expect(dropped).toMatchObject({ outcome: 'dropped' })
  await t.call(`POST /admin/webhook-deliveries/${dropped?.id}/redeliver`)
  expect(await rows()).toMatchObject([{ data: '{"initialTxHash":"0x01"}', outcome: null, attempts: 1 }])
})

test('a message says the same after a crash, whatever was signed since; a late 410 of another URL ends nothing', async () => {
  const { id } = await register()
  const transactionId = await transaction()
  await record({ transactionId, data: { initialTxHash: null } })
  const next = async () =>
    (await t.ctx.db.write((trx) => nextDeliveries(trx, { id, now: clock.now(), limit: 5 }))).deliveries
  expect(await next()).toEqual([])
  clock.advance('3s')
  const [first] = await next()
  expect(first).toBeDefined()
  await t.ctx.db.write((trx) =>
    trx.updateTable('transactions').set({ firstHash: '0x01' }).where('id', '=', transactionId).execute(),
  )
  expect((await next())[0]?.data).toBe(first?.data)

  const disabledAt = async () => (await t.call('GET /admin/webhooks?team=Acme')).body[0].disabledAt
  await disableFailing(t.ctx, id, 'gone', 'http://127.0.0.1:9/before')
  expect(await disabledAt()).toBeNull()
  await disableFailing(t.ctx, id, 'gone', 'http://127.0.0.1:9/in')
  expect(await disabledAt()).not.toBeNull()
})

testOfFile('a clock that was set back keeps no message for as long as it was ahead', async () => {
  const { id } = await register()
  await record()
  const dueAt = new Date(clock.now() + 2000).toISOString()
  const [row] = await rows()
  const failed = { outcome: null, settledAt: null, statusCode: 500, error: null } as const
  await t.ctx.db.write((trx) => recordTry(trx, { id: row?.id ?? 0, attempts: 0, dueAt, ...failed }))
  clock.jump('-1d')
  await t.ctx.clock.check()
  const { deliveries } = await t.ctx.db.write((trx) =>
    nextDeliveries(trx, { id, now: clock.now(), limit: 5 }),
  )
  expect(deliveries).toMatchObject([{ id: row?.id, attempts: 1 }])
})

test('a mint that ends with the deployment of its contract is told of like the deployment', async () => {
  await register(['transaction.settled'])
  const [deployment, mint] = [await transaction(), await transaction()]
  await t.ctx.db.write(async (trx) => {
    const { contractId } = await trx.selectFrom('tokens').select('contractId').executeTakeFirstOrThrow()
    await trx
      .updateTable('contracts')
      .set({ transactionId: deployment, status: 'pending' })
      .where('id', '=', contractId)
      .execute()
    await trx
      .updateTable('tokens')
      .set({ mintTransactionId: mint })
      .where('contractId', '=', contractId)
      .execute()
    await settledWith(t.ctx)(trx, { id: deployment, state: 'cancelled', at: now() })
  })
  expect((await rows()).map(({ data }) => JSON.parse(data).state)).toEqual(['failed', 'failed'])
})
