import { parseEther, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { reportLowRelayers } from '../../src/daemon/domain/chain/relayer-low.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { openRemoteChain, remoteRelayer } from '../support/remote-chain.ts'
import { openReceiver, type Receiver } from '../support/webhooks.ts'

let chain: Awaited<ReturnType<typeof openRemoteChain>>
let receiver: Receiver
let clock: TestClock
let t: AdminApp
const seed = { version: 1, teams: [{ name: 'Acme' }, { name: 'Other' }, { name: 'Silent' }] }
beforeAll(async () => {
  chain = await openRemoteChain()
})
afterAll(() => chain.close())
beforeEach(async () => {
  clock = testClock()
  const env = { ...chain.env, TAPCHIP_WEBHOOKS_PRIVATE: 'on', TAPCHIP_RELAYER_LOW: '50' }
  t = await openAdminApp({ seed, env, clock })
  receiver = await openReceiver()
  await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url })
  await t.call('POST /admin/webhooks', { team: 'Other', url: receiver.url, events: ['relayer.low'] })
  await t.call('POST /admin/webhooks', { team: 'Silent', url: receiver.url, events: ['tap.valid'] })
})
afterEach(async () => {
  receiver.close()
  await t.close()
})

const told = async () =>
  (await t.ctx.db.read.selectFrom('webhookDeliveries').selectAll().execute())
    .filter(({ type }) => type === 'relayer.low')
    .map(({ data }) => JSON.parse(data))
const report = () => reportLowRelayers(t.ctx)
/** As the relayer reads it. */
const give = async (ether: string) => {
  await chain.rpc('anvil_setBalance', [remoteRelayer.address, toHex(parseEther(ether))])
  clock.advance('2m')
  await t.ctx.chains.relayer.tick()
}

test('a relayer with little money is told once a day, to every team that wants to know', async () => {
  await give('1')
  await report()
  expect(await told()).toEqual([])
  await give('0.001')
  await Promise.all(Array.from({ length: 10 }, report))
  const all = await told()
  expect(all).toHaveLength(2)
  const [data] = all
  expect(data).toEqual({
    chainId: 7,
    address: remoteRelayer.address,
    balance: String(parseEther('0.001')),
    transactionsLeft: expect.any(Number),
  })
  expect(data.transactionsLeft).toBeLessThan(50)
  // At 2 gwei or so for 100,000 gas.
  expect(data.transactionsLeft).toBeGreaterThan(0)
  clock.advance('23h')
  await give('0.001')
  await report()
  expect(await told()).toHaveLength(2)
  clock.advance('1h')
  await give('0.0005')
  await report()
  expect(await told()).toHaveLength(4)
})

test('a relayer without money has zero transactions left', async () => {
  await give('0')
  await report()
  expect(await told()).toMatchObject([
    { balance: '0', transactionsLeft: 0 },
    { balance: '0', transactionsLeft: 0 },
  ])
})

test('the setting turns it off', async () => {
  await give('0')
  await reportLowRelayers({ ...t.ctx, config: { relayerLow: 'off' } })
  expect(await told()).toEqual([])
})
