import {
  type Address,
  createPublicClient,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getContract,
  getContractAddress,
  http,
} from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { type ClaimArgs, claimHash, phygitalClaim } from '../../src/daemon/chain/relayer/phygital-claim.ts'
import { type Bench, gwei, openBench, relayerKey, slots, wall } from '../support/relayer.ts'

const signVerifier = SigningKey.of('11'.repeat(32), 'test')
const alice: Address = '0xa11ce00000000000000000000000000000000001'
const bob: Address = '0xb0b0000000000000000000000000000000000002'

let bench: Bench
let contract: Address

beforeEach(async () => {
  const builders = {
    'phygital-claim': phygitalClaim({ signVerifier: () => signVerifier, expiryBlocks: () => 300 }),
  }
  bench = await openBench({ relayer: { builders } })
  const owner = relayerKey.address
  const data = encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Jackets', 'JKT', 'https://tap.example/', owner, signVerifier.address, [owner], owner, 0n],
  })
  contract = getContractAddress({ from: owner, nonce: 0n })
  const id = await bench.intend(0, { call: { to: null, data }, gasHint: 3_000_000, kind: 'deploy' })
  await bench.finish()
  expect(await bench.state(id)).toBe('confirmed')
})
afterEach(() => bench.close())

const phygital = () =>
  getContract({
    abi: phygitalAbi,
    address: contract,
    client: createPublicClient({ transport: http(bench.anvil.url) }),
  })
const claim = (tokenId: number, recipient: Address, call: ClaimArgs['call'] = 'mintNFT', gasHint?: number) =>
  bench.intend(0, {
    call: { builder: 'phygital-claim', args: { contract, recipient, tokenId: String(tokenId), call } },
    kind: 'phygital-transfer',
    ...(gasHint === undefined ? {} : { gasHint }),
  })

/** A stranger submits a claim of Alice's for the nonce that her first one was signed for, at a better price. */
async function overtake(): Promise<void> {
  const order = { blockExpiry: 300n, recipient: alice, tokenId: 500n, contract, nonce: 0n }
  const sig = await signVerifier.signMessage({ raw: claimHash(order) })
  const args = [sig, order.blockExpiry, alice, order.tokenId] as const
  const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'mintNFT', args })
  const stranger: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  await bench.rpc('eth_sendTransaction', [
    {
      from: stranger,
      to: contract,
      data,
      gas: '0x30d40',
      maxFeePerGas: `0x${(50n * gwei).toString(16)}`,
      maxPriorityFeePerGas: `0x${(20n * gwei).toString(16)}`,
    },
  ])
}

test('a claim hashes and signs as contracts in the field take it', async () => {
  const vector = {
    blockExpiry: 123n,
    recipient: '0x1111111111111111111111111111111111111111',
    tokenId: 7n,
    contract: '0x2222222222222222222222222222222222222222',
    nonce: 0n,
  } as const
  const raw = claimHash(vector)
  expect(raw).toBe('0xdb88113b42125a381666d7b8afd387f7c089f8e3f4656a3ff26ca2b0dbc16e73')
  expect(await signVerifier.signMessage({ raw })).toBe(
    '0x5b191bbe6f03bd5b40956900c4833a08d24cb6d2a1c665c11adb6320cf0670be5eeaa200b889f9e7618d6c60f59a987f1477d0ee96fd69c39abc9adbf49bd1271b',
  )
})

describe('claims', () => {
  test('by the hundred to one recipient go through, without a gap of nonces and none signed twice', async () => {
    const recorded = await Promise.all(slots(300).map((tokenId) => claim(tokenId, alice)))
    const ids = recorded.sort((one, other) => one - other)
    await bench.finish()
    for (const [index, id] of ids.entries()) {
      const { state, nonce, signings } = await bench.show(id)
      expect([state, nonce, signings]).toEqual(['confirmed', index + 1, 1])
    }
    expect(await phygital().read.balanceOf([alice])).toBe(300n)
    expect(await phygital().read.claimNonces([alice])).toBe(300n)
    expect(await bench.nonce()).toBe(301)
  })

  test('to several recipients count each on its own, and chains of transfers keep their order', async () => {
    const ids = [
      await claim(1, alice),
      await claim(2, bob),
      await claim(1, bob, 'claimNFT'),
      await claim(2, alice, 'claimNFT'),
    ]
    await bench.finish()
    for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 1 })
    expect(await phygital().read.ownerOf([1n])).toBe(getAddress(bob))
    expect(await phygital().read.ownerOf([2n])).toBe(getAddress(alice))
  })

  test('that a signature given to somebody else overtakes are signed anew, and each takes effect once', async () => {
    const ids = await Promise.all(slots(20).map((tokenId) => claim(tokenId, alice)))
    await bench.relayer.tick()
    await overtake()
    await bench.finish()
    for (const id of ids) expect(await bench.state(id)).toBe('confirmed')
    const signings = await Promise.all(ids.map(async (id) => (await bench.show(id)).signings))
    // All that stood behind the overtaken one had a nonce that came true when it moved up by one.
    expect(Math.max(...signings)).toBeGreaterThan(1)
    expect(await phygital().read.balanceOf([alice])).toBe(21n)
  })

  test('signed anew keep to the new transaction, where a node has receipts of the old one alone', async () => {
    const id = await claim(1, alice)
    await bench.relayer.tick()
    await overtake()
    await bench.mine()
    const show = () => bench.show(id)
    while ((await show()).signings < 2) await bench.relayer.tick()
    const { attempts } = await show()
    const isOfNew = (hash: unknown) => hash === attempts.at(-1)?.hash
    bench.node.fault = (method, [hash]) =>
      method === 'eth_getTransactionReceipt' && isOfNew(hash) ? 'null' : undefined
    await bench.mine()
    for (let ticks = 0; ticks < 3; ticks++) await bench.relayer.tick()
    bench.node.fault = undefined
    await bench.finish()
    expect(await show()).toMatchObject({ state: 'confirmed', signings: 2, minedHash: attempts.at(-1)?.hash })
    expect(await phygital().read.claimNonces([alice])).toBe(2n)
  })

  test.each(['given up', 'kept'] as const)(
    'that are held up while a later one of the token is %s: the last one that anybody wants decides',
    async (fate) => {
      const move = (recipient: Address) =>
        bench.intend(0, {
          call: { builder: 'phygital-claim', args: { contract, recipient, tokenId: '1', call: 'mintNFT' } },
          kind: 'phygital-transfer',
          topic: `token:31337/${contract}/1`,
        })
      const first = await move(alice)
      await bench.relayer.tick()
      await overtake()
      const later = await move(bob)
      await bench.relayer.tick()
      if (fate === 'given up') expect(await bench.relayer.cancel(later, 'a mistake')).toBe(true)
      await bench.finish()
      const isKept = fate === 'kept'
      expect(await bench.state(later)).toBe(isKept ? 'confirmed' : 'cancelled')
      expect(await bench.show(first)).toMatchObject(
        isKept
          ? { state: 'reverted', reason: `superseded by transaction ${later}` }
          : { state: 'confirmed', signings: 2 },
      )
      expect(await phygital().read.ownerOf([1n])).toBe(getAddress(isKept ? bob : alice))
    },
  )

  test('behind one that was given up are signed anew instead of reverting for ever', async () => {
    const ids = await Promise.all(slots(100).map((tokenId) => claim(tokenId, alice)))
    await bench.relayer.tick()
    expect(await bench.relayer.cancel(ids[3] ?? 0, 'given up')).toBe(true)
    await bench.finish()
    const shown = await Promise.all(ids.map((id) => bench.show(id)))
    expect(shown.map(({ state }) => state)).toEqual(
      ids.map((_, index) => (index === 3 ? 'cancelled' : 'confirmed')),
    )
    expect(Math.max(...shown.map(({ signings }) => signings))).toBeLessThanOrEqual(3)
    expect(await phygital().read.balanceOf([alice])).toBe(99n)
  })

  test('whose receiver takes more gas by the time than when they were signed are signed anew with more', async () => {
    const receiver: Address = '0x00000000000000000000000000000000000c0de3'
    const accepts = '63150b7a0260e01b5f5260205ff3'
    await bench.rpc('anvil_setCode', [receiver, `0x${accepts}`])
    const id = await claim(1, receiver)
    await bench.relayer.tick()
    expect((await bench.show(id)).attempts[0]?.gas).toBe(200_000)
    // Stores to 25 slots first.
    const stores = slots(25).map((slot) => `600160${slot.toString(16).padStart(2, '0')}55`)
    await bench.rpc('anvil_setCode', [receiver, `0x${stores.join('')}${accepts}`])
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 2 })
    expect(await phygital().read.ownerOf([1n])).toBe(getAddress(receiver))
  })

  test('whose receiver takes more gas than is allowed are refused, and hold nobody up', async () => {
    const receiver: Address = '0x00000000000000000000000000000000000c0de4'
    // Stores to 110 slots, for 22,100 each, and accepts.
    const stores = slots(110).map((slot) => `600160${slot.toString(16).padStart(2, '0')}55`)
    await bench.rpc('anvil_setCode', [receiver, `0x${stores.join('')}63150b7a0260e01b5f5260205ff3`])
    const [dear, other] = [await claim(1, receiver), await claim(2, bob)]
    await bench.finish()
    expect(await bench.show(dear)).toMatchObject({
      state: 'cancelled',
      reason: expect.stringMatching(/gas, and TAPCHIP_MAX_GAS_31337 allows 2,000,000/),
    })
    expect(await bench.state(other)).toBe('confirmed')
  })

  test('that take more gas than is allowed without a receiver of their own wait for a higher limit', async () => {
    let needed = 3_000_000
    bench.node.fault = (method, [call]) =>
      method === 'eth_estimateGas' && Object(call).to?.toLowerCase() === contract.toLowerCase()
        ? { result: `0x${needed.toString(16)}` }
        : undefined
    const id = await claim(1, alice)
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({
      state: 'queued',
      waiting: 'gas',
      waitingWords: 'it needs 3,000,000 gas, and TAPCHIP_MAX_GAS_31337 allows 2,000,000',
    })
    needed = 300_000
    await bench.mine()
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
  })

  test('that can never go through revert with the reason, and are not signed anew', async () => {
    const refused = await claim(1, wall.address)
    const unknown = await bench.intend(0, { call: { builder: 'no-such', args: {} } })
    await bench.finish()
    expect(await bench.show(refused)).toMatchObject({ state: 'reverted', signings: 1 })
    expect(await bench.show(unknown)).toMatchObject({
      state: 'cancelled',
      reason: expect.stringMatching(/no-such/),
    })
  })

  test('of a token that was minted in the meantime are signed anew, as moves', async () => {
    await claim(1, alice)
    const again = await claim(1, bob)
    await bench.finish()
    expect(await bench.show(again)).toMatchObject({ state: 'confirmed', signings: 2 })
    expect(await phygital().read.ownerOf([1n])).toBe(getAddress(bob))
  })

  test('whose signature expired on the way are signed anew', async () => {
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'lost' : undefined)
    const id = await claim(1, alice)
    await bench.relayer.tick()
    await bench.mine(400)
    bench.node.fault = undefined
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 2 })
  })
})

test('a claim that a node refuses for its gas at any limit waits for a higher one, and is not given up', async () => {
  bench.node.fault = (method) =>
    method === 'eth_sendRawTransaction'
      ? { error: { code: -32000, message: 'intrinsic gas too low' } }
      : undefined
  const id = await claim(1, alice)
  for (let round = 0; round < 15; round++) {
    bench.clock.advance('2s')
    await bench.relayer.tick()
  }
  const row = await bench.show(id)
  expect(row).toMatchObject({ waiting: 'gas', waitingWords: 'intrinsic gas too low', abandonedBecause: null })
  expect(row.attempts.at(-1)).toMatchObject({ purpose: 'effect', gas: 2_000_000 })
  bench.node.fault = undefined
  await bench.finish()
  expect(await bench.state(id)).toBe('confirmed')
  expect((await bench.show(id)).waiting).toBeNull()
})
