import { type Address, encodeFunctionData, getAddress, type Hex, padHex, toHex } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { guestbookFactoryAbi } from '../../src/daemon/chain/artifacts/guestbook-factory.ts'
import {
  factoryDeployment,
  guestbookAddress,
  guestbookFactory,
} from '../../src/daemon/chain/deterministic-deployment.ts'
import { guestbookMints } from '../../src/daemon/chain/relayer/guestbook-mints.ts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { cancelTransaction, settledWith } from '../../src/daemon/domain/chain/transactions.ts'
import { WebhookEvents } from '../../src/daemon/domain/webhooks/events.ts'
import { closeGroup, joinGroup } from '../../src/daemon/store/chain/groups.ts'
import { type Bench, openBench, relayerKey, wall } from '../support/relayer.ts'

const guest = (n: number): Address => getAddress(padHex(toHex(0xee0000 + n), { size: 20 }))
const intentId = (n: number): Hex => padHex(toHex(n), { size: 32 })
const guests = [1, 2, 3, 4, 5, 6].map(guest)
const owner = relayerKey.address

let bench: Bench
let webhookEvents: WebhookEvents
let contract: Address

const mintCall = (n: number, to: Address, tokenId = 1n) => ({
  to: contract,
  data: encodeFunctionData({ abi: guestbookAbi, functionName: 'mint', args: [to, tokenId, intentId(n)] }),
})

beforeEach(async () => {
  bench = await openBench({ relayer: { builders: { 'guestbook-mints': guestbookMints } } })
  webhookEvents = await WebhookEvents.open(bench.db.read, bench.clock)
  bench.relayer = await bench.open({ onSettled: settledWith({ webhookEvents }) })
  const deployment = {
    salt: intentId(1),
    ...{ name: 'Guests', symbol: 'GB', serviceURL: 'https://tap.example', admin: owner, minter: owner },
  }
  contract = guestbookAddress(deployment)
  const deploy = encodeFunctionData({ abi: guestbookFactoryAbi, functionName: 'deploy', args: [deployment] })
  const create = encodeFunctionData({ abi: guestbookAbi, functionName: 'createEvent', args: [1n] })
  await bench.intend(0, { call: factoryDeployment(), gasHint: 4_500_000, kind: 'factory' })
  await bench.intend(1, { call: { to: guestbookFactory, data: deploy }, gasHint: 600_000, kind: 'deploy' })
  await bench.intend(2, { call: { to: contract, data: create }, gasHint: 250_000, kind: 'event' })
  await bench.finish()
})
afterEach(() => bench.close())

/** Records mints for guests, all in one group. */
const mint = () =>
  bench.db.write(async (trx) => {
    const base = { chainId: 31337, teamId: null, now: bench.clock.now(), subject: {} }
    const ids: number[] = []
    for (const [at, to] of guests.entries())
      ids.push(
        await recordIntent(trx, {
          ...base,
          call: mintCall(at + 1, to),
          gasHint: 150_000,
          kind: 'guestbook-mint',
        }),
      )
    const call = { builder: 'guestbook-mints', args: {} }
    const group = await recordIntent(trx, { ...base, call, kind: 'guestbook-mints' })
    await joinGroup(trx, group, ids)
    await closeGroup(trx, group)
    return { ids, group }
  })
const states = (ids: readonly number[]) => Promise.all(ids.map(bench.state))
const all = (count: number, state: string) => Array.from({ length: count }, () => state)
const balances = async () => {
  const data = encodeFunctionData({
    abi: guestbookAbi,
    functionName: 'balanceOfBatch',
    args: [guests, guests.map(() => 1n)],
  })
  const answer = String(await bench.rpc('eth_call', [{ to: contract, data }, 'latest']))
  return (answer.slice(2).match(/.{64}/g) ?? []).slice(2).map((word) => Number(`0x${word}`))
}
const setCode = (address: Address, code: string) => bench.rpc('anvil_setCode', [address, code])

test('a group is one transaction, and its members have its hash and its end', async () => {
  const { ids, group } = await mint()
  await bench.finish()
  expect(await states([...ids, group])).toEqual(all(7, 'confirmed'))
  expect(await balances()).toEqual([1, 1, 1, 1, 1, 1])
  const { minedHash, nonce } = await bench.show(group)
  for (const id of ids) expect(await bench.show(id)).toMatchObject({ minedHash, nonce, groupId: group })
})

test('a guest that has become a contract that refuses leaves the group that was mined, and fails alone', async () => {
  const { ids, group } = await mint()
  await bench.relayer.tick()
  await setCode(guest(2), wall.code)
  await bench.finish()
  expect(await bench.state(group)).toBe('confirmed')
  expect(await states(ids)).toEqual(['confirmed', 'reverted', ...all(4, 'confirmed')])
  expect(await balances()).toEqual([1, 0, 1, 1, 1, 1])
  expect(await bench.show(ids[1] ?? 0)).toMatchObject({ groupId: null, settledAt: expect.any(String) })
})

test('one that was to be given up, and was refused, is', async () => {
  const { ids, group } = await mint()
  await bench.relayer.tick()
  await setCode(guest(2), wall.code)
  // It does not know yet that it is too late.
  await bench.mine()
  const deps = { db: bench.db, clock: bench.clock, chains: bench, webhookEvents }
  const actor = { name: 'ops', requestId: null }
  await cancelTransaction(deps, { actor, id: ids[1] ?? 0, reason: 'by mistake' })
  await bench.finish()
  expect(await states(ids)).toEqual(['confirmed', 'cancelled', ...all(4, 'confirmed')])
  expect(await bench.state(group)).toBe('confirmed')
  expect(await balances()).toEqual([1, 0, 1, 1, 1, 1])
})

test('a mint that was done before by its intent ID is done, and not again', async () => {
  const [first] = guests
  await bench.intend(3, { call: mintCall(1, first ?? '0x'), gasHint: 150_000, kind: 'other' })
  const { ids } = await mint()
  await bench.finish()
  expect(await states(ids)).toEqual(all(6, 'confirmed'))
  expect(await balances()).toEqual([1, 1, 1, 1, 1, 1])
})

test('a group that the contract refuses as a whole is taken apart', async () => {
  const { ids } = await mint()
  await bench.db.write((trx) =>
    trx
      .updateTable('transactions')
      .set(mintCall(3, guest(3), 99n))
      .where('id', '=', ids[2] ?? 0)
      .execute(),
  )
  await bench.finish()
  expect(await states(ids)).toEqual([...all(2, 'confirmed'), 'reverted', ...all(3, 'confirmed')])
  expect(await balances()).toEqual([1, 1, 0, 1, 1, 1])
})
