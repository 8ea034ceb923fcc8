import {
  type Address,
  createPublicClient,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getContractAddress,
  type Hex,
  http,
  padHex,
  toHex,
} from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { phygitalClaim } from '../../src/daemon/chain/relayer/phygital-claim.ts'
import { groupHash, phygitalMints } from '../../src/daemon/chain/relayer/phygital-mints.ts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { cancelTransaction, settledWith } from '../../src/daemon/domain/chain/transactions.ts'
import { WebhookEvents } from '../../src/daemon/domain/webhooks/events.ts'
import { closeGroup, holdGroup, joinGroup } from '../../src/daemon/store/chain/groups.ts'
import { cancelQueued } from '../../src/daemon/store/chain/states.ts'
import { tokenTopic } from '../../src/daemon/store/phygitals/tokens.ts'
import { mintedAt } from '../support/mint-sheets.ts'
import { type Bench, gwei, openBench, relayerKey, wall } from '../support/relayer.ts'

const signVerifier = SigningKey.of('11'.repeat(32), 'test')
const claims = { signVerifier: () => signVerifier, expiryBlocks: () => 300 }
const holder = (n: number): Address => getAddress(padHex(toHex(0xdd0000 + n), { size: 20 }))
const holders = Array.from({ length: 6 }, (_, n) => holder(n + 1))
/** Takes tokens in trial runs, which pay no gas price, and refuses them in blocks. */
const liar = { address: holder(99), code: '0x3a60125763150b7a0260e01b5f5260205ff35b5f5ffd' }

let bench: Bench
let contract: Address

beforeEach(async () => {
  const builders = { 'phygital-claim': phygitalClaim(claims), 'phygital-mints': phygitalMints(claims) }
  bench = await openBench({ relayer: { builders } })
  const webhookEvents = await WebhookEvents.open(bench.db.read, bench.clock)
  bench.relayer = await bench.open({ onSettled: settledWith({ webhookEvents }) })
  const owner = relayerKey.address
  const data = encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Jackets', 'JKT', 'https://tap.example/', owner, signVerifier.address, [owner], owner, 0n],
  })
  contract = getContractAddress({ from: owner, nonce: 0n })
  await bench.intend(0, { call: { to: null, data }, gasHint: 3_000_000, kind: 'deploy' })
  await bench.finish()
})
afterEach(() => bench.close())

/** Records the mint of token n to the n-th recipient, all in one group. */
const mint = (recipients: readonly Address[]) =>
  bench.db.write(async (trx) => {
    const base = { chainId: 31337, teamId: null, now: bench.clock.now() }
    const ids: number[] = []
    for (const [at, recipient] of recipients.entries()) {
      const tokenId = String(at + 1)
      const args = { contract, recipient, tokenId, call: 'mintNFT' }
      const subject = { contractAddress: contract, chainId: 31337, tokenId, recipient }
      const intent = { call: { builder: 'phygital-claim', args }, gasHint: 200_000, kind: 'phygital-mint' }
      ids.push(await recordIntent(trx, { ...base, ...intent, subject, topic: tokenTopic(subject) }))
    }
    const call = { builder: 'phygital-mints', args: { ids } }
    const group = await recordIntent(trx, { ...base, call, kind: 'phygital-mints', subject: {} })
    await joinGroup(trx, group, ids)
    await closeGroup(trx, group)
    return { ids, group }
  })
const states = (ids: readonly number[]) => Promise.all(ids.map(bench.state))
const client = () => createPublicClient({ transport: http(bench.anvil.url) })
const minted = async () => {
  const { holders: held, ...counts } = await mintedAt(client(), contract)
  return { ...counts, held: [...held] }
}
const all = (count: number, state: string) => Array.from({ length: count }, () => state)
const each = (recipients: readonly Address[]) => recipients.map((recipient) => [recipient, 1])
const setCode = (address: Address, code: string) => bench.rpc('anvil_setCode', [address, code])

test('a group is one transaction, and its members have its hash and its end', async () => {
  const { ids, group } = await mint(holders)
  await bench.relayer.tick()
  const hash = await bench.relayer.broadcasted(ids[3] ?? 0)
  expect(hash).toBe((await bench.show(group)).firstHash)
  expect(await states(ids)).toEqual(all(6, 'broadcast'))
  await bench.finish()
  expect(await states([...ids, group])).toEqual(all(7, 'confirmed'))
  expect(await minted()).toEqual({ events: 6, tokens: 6, transactions: 1, held: each(holders) })
  const shown = await bench.show(ids[0] ?? 0)
  expect(shown).toMatchObject({ minedHash: hash, firstHash: hash, nonce: 1, groupId: group })
  expect(await bench.nonce()).toBe(2)
})

describe('a recipient that refuses', () => {
  test.each([1, 2, 6])('fails alone where %i of six do; its neighbours share a transaction', async (bad) => {
    const refusing = holders.slice(0, bad)
    for (const address of refusing) await setCode(address, wall.code)
    const { ids } = await mint(holders)
    await bench.finish()
    const good = 6 - bad
    expect((await states(ids)).sort()).toEqual([...all(good, 'confirmed'), ...all(bad, 'reverted')])
    const held = each(holders.slice(bad))
    expect(await minted()).toEqual({ events: good, tokens: good, transactions: good > 0 ? 1 : 0, held })
  })

  test('in a block after it accepted the trial run fails alone as well', async () => {
    await setCode(liar.address, liar.code)
    const { ids } = await mint([...holders, liar.address])
    await bench.finish()
    expect(await states(ids)).toEqual([...all(6, 'confirmed'), 'reverted'])
    expect(await minted()).toEqual({ events: 6, tokens: 6, transactions: 1, held: each(holders) })
  })
})

test('a token that somebody minted in the meantime leaves the group, which is minted without it', async () => {
  const order = { chainId: 31337, contract, blockExpiry: 300n, recipients: [holder(1)], tokenIds: [1n] }
  await submit(order)
  await bench.mine()
  const { ids } = await mint(holders)
  await bench.finish()
  expect(await states(ids)).toEqual(all(6, 'confirmed'))
  const { tokens, held } = await minted()
  expect({ tokens, held: held.map(([to]) => to).sort() }).toEqual({ tokens: 6, held: [...holders].sort() })
})

const mintMany = (args: readonly [Hex, bigint, readonly Address[], readonly bigint[]]) =>
  encodeFunctionData({ abi: phygitalAbi, functionName: 'mintMany', args })

/** A stranger submits our call at a better price. */
async function submit(order: Parameters<typeof groupHash>[0], data?: string): Promise<void> {
  const sig = await signVerifier.signMessage({ raw: groupHash(order) })
  const price = toHex(50n * gwei)
  await bench.rpc('eth_sendTransaction', [
    {
      from: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      to: contract,
      data: data ?? mintMany([sig, order.blockExpiry, order.recipients, order.tokenIds]),
      gas: toHex(2_000_000),
      maxFeePerGas: price,
      maxPriorityFeePerGas: price,
    },
  ])
}

test('a copy of its call that is mined first is its effect', async () => {
  const { ids, group } = await mint(holders)
  await bench.relayer.tick()
  const { data } = await bench.show(group)
  await submit({ chainId: 1, contract, blockExpiry: 0n, recipients: [], tokenIds: [] }, data ?? '')
  await bench.finish()
  expect(await states([...ids, group])).toEqual(all(7, 'confirmed'))
  expect((await bench.show(ids[0] ?? 0)).reason).toMatch(/its effect came by another transaction, 0x/)
  expect(await minted()).toMatchObject({ events: 6, tokens: 6, held: each(holders) })
})

test('an expired group is signed again', async () => {
  const { ids, group } = await mint(holders)
  await bench.relayer.tick()
  await bench.rpc('anvil_dropAllTransactions')
  await bench.mine(310)
  await bench.finish()
  expect(await states(ids)).toEqual(all(6, 'confirmed'))
  expect((await bench.show(group)).signings).toBe(2)
  expect(await minted()).toEqual({ events: 6, tokens: 6, transactions: 1, held: each(holders) })
})

describe('a group that is still open', () => {
  const reopen = (group: number, ids: readonly number[]) =>
    bench.db.write((trx) => joinGroup(trx, group, ids))

  test('waits for its members, but not for those of a daemon that was killed', async () => {
    const { ids, group } = await mint(holders)
    await reopen(group, ids)
    await bench.relayer.tick()
    expect(await states(ids)).toEqual(all(6, 'queued'))
    bench.clock.advance('5s')
    await bench.relayer.tick()
    expect(await states(ids)).toEqual(all(6, 'broadcast'))
    expect(await bench.db.write((trx) => holdGroup(trx, group))).toBe(false)
    await bench.finish()
    expect(await minted()).toMatchObject({ events: 6, transactions: 1 })
  })
})

test('members wait for what their group waits for', async () => {
  await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(500n * gwei)])
  await bench.mine()
  const { ids } = await mint(holders)
  await bench.relayer.tick()
  expect(await bench.show(ids[0] ?? 0)).toMatchObject({ state: 'queued', waiting: 'fees' })
  await bench.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(gwei)])
  await bench.mine()
  await bench.finish()
  expect(await bench.show(ids[0] ?? 0)).toMatchObject({ state: 'confirmed', waiting: null })
  expect(await minted()).toMatchObject({ events: 6, transactions: 1 })
})

test.each([true, false])('a group from a backup is minted once (sent since: %s)', async (isSent) => {
  const { ids, group } = await mint(holders)
  const order = { chainId: 31337, contract, blockExpiry: 300n, recipients: holders }
  if (isSent) await submit({ ...order, tokenIds: holders.map((_, at) => BigInt(at + 1)) })
  await bench.mine()
  await bench.db.write((trx) => trx.updateTable('transactions').set({ isRestored: 1 }).execute())
  await bench.finish()
  expect(await states([...ids, group])).toEqual([...all(6, 'confirmed'), 'cancelled'])
  expect(await minted()).toMatchObject({ events: 6, tokens: 6, transactions: isSent ? 1 : 6 })
})

test('what a daemon of the version before leaves of a group is sent alone', async () => {
  const { ids, group } = await mint(holders)
  // It knows neither groups nor their builder.
  const at = new Date(bench.clock.now()).toISOString()
  await bench.db.write((trx) => cancelQueued(trx, { id: group, at, reason: 'no builder' }))
  await bench.finish()
  expect(await states(ids)).toEqual(all(6, 'confirmed'))
  expect(await minted()).toMatchObject({ events: 6, tokens: 6, transactions: 6 })
})

test.each(['before it is signed', 'before it is mined', 'before it settles'])(
  'a daemon killed %s goes on with it',
  async (when) => {
    const { ids } = await mint(holders)
    const webhookEvents = await WebhookEvents.open(bench.db.read, bench.clock)
    const restart = async () => {
      await bench.restart()
      bench.relayer = await bench.open({ onSettled: settledWith({ webhookEvents }) })
    }
    if (when !== 'before it is signed') await bench.relayer.tick()
    if (when === 'before it settles') await bench.mine()
    await restart()
    await bench.finish()
    expect(await states(ids)).toEqual(all(6, 'confirmed'))
    expect(await minted()).toMatchObject({ events: 6, tokens: 6, transactions: 1 })
  },
)

describe('cancelled', () => {
  const cancel = async (id: number) => {
    const webhookEvents = await WebhookEvents.open(bench.db.read, bench.clock)
    const actor = { name: 'root', requestId: null }
    const deps = { db: bench.db, clock: bench.clock, chains: { relayer: bench.relayer }, webhookEvents }
    await cancelTransaction(deps, { actor, id, reason: 'a mistake' })
  }

  test.each(['queued', 'broadcast'])(
    'while %s, a member is not minted, and its neighbours are',
    async (when) => {
      const { ids } = await mint(holders)
      if (when === 'broadcast') await bench.relayer.tick()
      await cancel(ids[2] ?? 0)
      await bench.finish()
      expect(await states(ids)).toEqual([
        ...['confirmed', 'confirmed', 'cancelled', 'confirmed', 'confirmed', 'confirmed'],
      ])
      expect((await bench.show(ids[2] ?? 0)).reason).toBe('a mistake')
      expect(await minted()).toMatchObject({ events: 5, tokens: 5 })
    },
  )

  test.each(['queued', 'broadcast'])(
    'while %s, a group is given up with all of its members',
    async (when) => {
      const { ids, group } = await mint(holders)
      if (when === 'broadcast') await bench.relayer.tick()
      await cancel(group)
      await bench.finish()
      expect(await states([...ids, group])).toEqual(all(7, 'cancelled'))
      expect(await minted()).toMatchObject({ events: 0 })
    },
  )
})
