import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, getAddress } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { recordMissing } from '../../src/daemon/domain/deployments/deployments.ts'
import { type Guestbooks, metadata, openGuestbooks } from '../support/guestbook.ts'
import { bob, carol } from '../support/phygitals.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'

let dataDir: string
let r: Guestbooks
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-relayers-'))
})
afterEach(async () => {
  await r.close()
  await dropDatabaseOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

/** @param relayers how many the embedded chain has */
async function open(relayers: number, { settles = true } = {}): Promise<void> {
  const env = { TAPCHIP_RELAYERS_31337: String(relayers), ...(await databaseOf(dataDir)) }
  r = await openGuestbooks({ dataDir, env })
  if (settles) await r.settled()
}
const chain = () => r.ctx.chains.get(31337)
const second = (): Address => chain().relayers[1]?.address ?? '0x'
const told = async () => (await r.transactions()).filter(({ kind }) => kind === 'contract-relayer')
const last = async (kind: string) => (await r.transactions()).findLast((row) => row.kind === kind)
const jam = (address: Address, reason: 'funds' | null) =>
  r.ctx.db.write((trx) =>
    trx.updateTable('senders').set({ jam: reason }).where('address', '=', address).execute(),
  )

async function isKnown(symbol: 'GB' | 'JKT', account: Address): Promise<boolean> {
  const address = getAddress((await r.contract(symbol)).address)
  const args = [account] as const
  return symbol === 'GB'
    ? chain().client.readContract({ abi: guestbookAbi, address, functionName: 'isMinter', args })
    : chain().client.readContract({ abi: phygitalAbi, address, functionName: 'isRefresher', args })
}

test('contracts of ours are told once about a relayer that was added, and those of others are not', async () => {
  await open(1)
  const addresses = [await r.contract('GB'), await r.contract('JKT')].map(({ address }) => address)
  expect(await told()).toEqual([])
  await r.close()
  await open(2)
  expect([await isKnown('GB', second()), await isKnown('JKT', second())]).toEqual([true, true])
  await Promise.all(Array.from({ length: 10 }, () => recordMissing(r.ctx)))
  await r.settled()
  expect((await told()).map(({ state, signer }) => `${signer} ${state}`)).toEqual([
    'relayer confirmed',
    'relayer confirmed',
  ])
  expect([await r.contract('GB'), await r.contract('JKT')].map(({ address }) => address)).toEqual(addresses)
})

test('one that is deployed later accepts all relayers, at the address that it has with one', async () => {
  await open(2)
  expect([await isKnown('GB', second()), await isKnown('JKT', second())]).toEqual([true, true])
  const before = (await told()).length
  const deployed = await r.ask('/events/contracts', { name: 'More', symbol: 'MORE', chainId: 31337 })
  expect(deployed.status).toBe(200)
  await r.settled()
  expect(await told()).toHaveLength(before + 1)
})

test('a call that did not go through is recorded again at the next start', async () => {
  await open(2)
  const [row] = await told()
  await r.ctx.db.write((trx) =>
    trx
      .deleteFrom('contractRelayers')
      .where('transactionId', '=', row?.id ?? 0)
      .execute(),
  )
  const ids = await recordMissing(r.ctx)
  expect(ids).toHaveLength(1)
  await r.settled()
  expect(await r.ctx.db.read.selectFrom('contractRelayers').selectAll().execute()).toHaveLength(2)
})

test('a mint goes through a relayer that has the right to it, and an event is created before', async () => {
  await open(2)
  // Not yet told, or not yet confirmed.
  await r.ctx.db.write((trx) => trx.updateTable('contractRelayers').set({ confirmedAt: null }).execute())
  const { address, id } = await r.contract('GB')
  const mint = (recipient: string, tokenId = '1') =>
    r.ask('/events/mint', { contractAddress: address, chainId: 31337, tokenId, recipient })
  await jam(chain().relayer, 'funds')
  expect(await mint(bob)).toMatchObject({ status: 200 })
  expect((await last('guestbook-mint'))?.signer).toBe('relayer')
  await r.settled()
  await r.ctx.db.write((trx) =>
    trx.updateTable('contractRelayers').set({ confirmedAt: '2026-01-01T00:00:00.000Z' }).execute(),
  )
  await jam(chain().relayer, 'funds')
  expect(await mint(carol)).toMatchObject({ status: 200 })
  expect((await last('guestbook-mint'))?.signer).toBe('relayer-2')
  expect([await r.balance('GB', 1, bob), await r.balance('GB', 1, carol)].join()).toBe('1,1')
  // A mint of an event that is being created has to follow it.
  await jam(chain().relayer, 'funds')
  r.ctx.chains.relayer.wake()
  const event = { name: 'Third', tokenId: '3', contractId: id, metadata: metadata('Third') }
  const [created, minted] = await Promise.all([r.ask('/events', event), r.ask('/events', { ...event })])
  expect([created.status, minted.status].toSorted()).toEqual([200, 409])
  expect(await mint(bob, '3')).toMatchObject({ status: 200 })
  expect(await r.balance('GB', 3, bob)).toBe(1)
})

test('tokens move by any relayer, and those of one recipient by one', async () => {
  await open(2)
  const address = (await r.contract('JKT')).address
  const transfer = (tokenId: string, recipient: string) =>
    r.ask('/phygitals/transfer', { contractAddress: address, chainId: 31337, tokenId, recipient })
  await r.ctx.db.write((trx) =>
    trx
      .insertInto('tokens')
      .columns(['contractId', 'tokenId', 'createdAt'])
      .expression((e) =>
        e
          .selectFrom('contracts')
          .select((c) => ['id', c.val('7').as('tokenId'), 'createdAt'])
          .where('symbol', '=', 'JKT'),
      )
      .execute(),
  )
  await jam(chain().relayer, 'funds')
  expect(await transfer('7', bob)).toMatchObject({ status: 200 })
  expect(await last('phygital-mint')).toMatchObject({ signer: 'relayer-2' })
  await r.settled()
  expect(await last('phygital-mint')).toMatchObject({ state: 'confirmed', sender: second() })
})

test('money and health of each relayer are in lists, metrics, and doctor', async () => {
  await open(2)
  const list = async () => (await r.app.inject({ url: '/admin/chains', headers: r.admin })).json()[0]
  expect((await list()).relayers).toMatchObject([
    { name: 'relayer', address: chain().relayer, jam: null },
    { name: 'relayer-2', address: second(), balance: expect.stringMatching(/^\d{20,}$/), jam: null },
  ])
  await jam(second(), 'funds')
  expect((await list()).relayers[1]).toMatchObject({ jam: 'funds' })
  const { body } = await r.app.inject({ url: '/metrics' })
  expect(body).toContain('tapchip_relayer_jammed{chain="31337",relayer="relayer-2"} 0')
  expect(body).toContain('tapchip_chain_trouble{chain="31337"} 0')
  const ready = (await r.app.inject({ url: '/readyz' })).json()
  expect(ready).toMatchObject({ status: 'ready', chains: { 31337: 'ok' } })
})

test('what a relayer has under way that is not configured any more is said', async () => {
  await open(2)
  r.ctx.chains.relayer.wake()
  const [row] = await told()
  await r.ctx.db.write((trx) =>
    trx
      .updateTable('transactions')
      .set({ signer: 'relayer-2', settledAt: null, state: 'queued' })
      .where('id', '=', row?.id ?? 0)
      .execute(),
  )
  await r.close()
  await open(1, { settles: false })
  const [listed] = (await r.app.inject({ url: '/admin/chains', headers: r.admin })).json()
  expect(listed).toMatchObject({ missing: [{ signer: 'relayer-2', unsettled: 1 }] })
  const url = `/admin/transactions/${row?.id}`
  expect((await r.app.inject({ url, headers: r.admin })).json()).toMatchObject({ relayer: 'relayer-2' })
})

test('on a guestbook of others only its minters mint, and its check names the relayers that are none', async () => {
  await open(1)
  const { id, address } = await r.contract('GB')
  await r.ctx.db.write((trx) =>
    trx.updateTable('contracts').set({ transactionId: null }).where('id', '=', id).execute(),
  )
  await r.close()
  await open(2)
  const shown = await r.app.inject({ url: `/admin/contracts/${id}`, headers: r.admin })
  expect(shown.body).toContain(`Have the contract's owner call setMinter(${second()}, true).`)
  await jam(chain().relayer, 'funds')
  const mint = { contractAddress: address, chainId: 31337, tokenId: '1', recipient: bob }
  expect(await r.ask('/events/mint', mint)).toMatchObject({ status: 200 })
  expect(await last('guestbook-mint')).toMatchObject({ signer: 'relayer', candidates: null })
  expect(await r.balance('GB', 1, bob)).toBe(1)
})
