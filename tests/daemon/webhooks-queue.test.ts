import { afterEach, beforeEach, expect, test } from 'vitest'
import { settledWith } from '../../src/daemon/domain/chain/settlements.ts'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { deliveryQueue } from '../../src/daemon/domain/webhooks/queue.ts'
import { insertTransaction } from '../../src/daemon/store/chain/intents.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

// The deliverer does not run here, unless a test starts it.

let t: AdminApp
let clock: TestClock
let teamId: number
const errors: unknown[] = []
const queue = () =>
  deliveryQueue({ ...t.ctx, holder: 'test', failed: (error: unknown) => errors.push(error) })

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

test('a webhook that cannot be decrypted keeps no other from being delivered, and is reported once', async () => {
  const broken = await register()
  const good = await register()
  await change(broken.id, { url: Buffer.from('not sealed') })
  const store = queue()
  for (const _ of [1, 2]) expect((await store.targets()).map(({ id }) => id)).toEqual([good.id])
  expect(errors.map(String)).toEqual([expect.stringContaining(`Webhook ${broken.id} cannot be decrypted`)])
})

test('a message says the same after a crash, whatever was signed since; a late 410 of another URL ends nothing', async () => {
  const { id } = await register()
  const transactionId = await transaction()
  await record({ transactionId, data: { initialTxHash: null } })
  const store = queue()
  const claim = async () => (await store.exchange([], [{ webhookId: id, limit: 5 }]))[0]?.jobs
  expect(await claim()).toEqual([])
  clock.advance('3s')
  const [first] = (await claim()) ?? []
  await t.ctx.db.write((trx) =>
    trx.updateTable('transactions').set({ firstHash: '0x01' }).where('id', '=', transactionId).execute(),
  )
  await store.releaseAll()
  expect((await claim())?.[0]?.data).toBe(first?.data)

  const [target] = await store.targets()
  await store.disable({ id, url: 'http://127.0.0.1:9/before' }, 'gone')
  expect(await store.targets()).toHaveLength(1)
  await store.disable({ id, url: target?.url ?? '' }, 'gone')
  expect(await store.targets()).toHaveLength(0)
})

test('a clock that was set back keeps no message for as long as it was ahead', async () => {
  const { id } = await register()
  await record()
  const store = queue()
  const claim = async () => (await store.exchange([], [{ webhookId: id, limit: 5 }]))[0]?.jobs ?? []
  const [job] = await claim()
  const dueAt = clock.now() + 2000
  await store.exchange([{ id: job?.id ?? 0, outcome: 'again', dueAt, statusCode: 500, error: null }], [])
  clock.jump('-1d')
  expect(await claim()).toEqual([])
  await store.hasten()
  expect(await claim()).toMatchObject([{ id: job?.id, attempts: 1 }])
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
