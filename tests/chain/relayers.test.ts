import {
  type Address,
  createPublicClient,
  encodeDeployData,
  getAddress,
  getContract,
  getContractAddress,
  http,
  type TransactionSerialized,
} from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { type ClaimArgs, claimCounter, phygitalClaim } from '../../src/daemon/chain/relayer/phygital-claim.ts'
import { recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { takeIntents } from '../../src/daemon/store/chain/signer-queues.ts'
import { type Bench, openBench, relayerKey, slots } from '../support/relayer.ts'
import { senderOf as recoverSender } from '../support/sender-of.ts'

const signVerifier = SigningKey.of('11'.repeat(32), 'test')
/** The second of anvil's accounts, which has money there. */
const secondKey = SigningKey.of('59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d', 'test')
const poor = SigningKey.of('77'.repeat(32), 'test')
const signers = { relayer: relayerKey, 'relayer-2': secondKey }
const both = ['relayer', 'relayer-2']
const alice: Address = '0xa11ce00000000000000000000000000000000001'
const bob: Address = '0xb0b0000000000000000000000000000000000002'

let bench: Bench
afterEach(() => bench.close())

const isFirst = (raw: string) => recoverSender(raw as TransactionSerialized) === relayerKey.address
const anyOf = async (candidates = both) => bench.relayer.shortestFirst(31337, candidates)
const signerOf = async (id: number) => (await bench.show(id)).signer
const senderOf = async (id: number) => (await bench.show(id)).sender

describe('two relayers', () => {
  beforeEach(async () => {
    bench = await openBench({ chain: { signers } })
  })

  test('share what is recorded, each the one with the shorter queue, and each effect comes once', async () => {
    const ids: number[] = []
    for (const slot of slots(40)) ids.push(await bench.intend(slot, { candidates: await anyOf() }))
    const own = await bench.intend(41)
    expect(await signerOf(own)).toBe('relayer')
    const bound = await Promise.all(ids.map(signerOf))
    expect(bound.filter((one) => one === 'relayer-2')).toHaveLength(20)
    await bench.finish()
    for (const id of ids)
      expect(await senderOf(id)).toBe(signers[(await signerOf(id)) as keyof typeof signers].address)
    for (const slot of slots(41)) expect(await bench.tallied(slot)).toBe(1)
  })

  test('of one topic go through one, in order, and what raced on to the other waits until the first is settled', async () => {
    const topic = 'token:31337/0x00/1'
    const first = await bench.intend(1, { topic, candidates: await anyOf() })
    for (const slot of slots(3)) await bench.intend(10 + slot, { candidates: ['relayer-2', 'relayer'] })
    const [later] = [await bench.intend(2, { topic, candidates: ['relayer-2', 'relayer'] })]
    expect([await signerOf(first), await signerOf(later)]).toEqual(['relayer', 'relayer'])
    // As by two daemons that record at once and do not see each other.
    const raced = await bench.intend(3, { topic, candidates: ['relayer-2'] })
    await bench.relayer.tick()
    expect(await Promise.all([first, later, raced].map(bench.state))).toEqual([
      'broadcast',
      'broadcast',
      'queued',
    ])
    await bench.mine()
    await bench.relayer.tick()
    expect(await bench.state(later)).toBe('confirmed')
    await bench.finish()
    expect(await bench.state(raced)).toBe('confirmed')
    expect(await bench.tallied(3)).toBe(1)
  })

  test('one whose head is not mined jams alone: the other takes what it has not signed, and gets what is new', async () => {
    // Sent, and dropped by the node: no block will contain it.
    bench.node.fault = (method, [raw]) =>
      method === 'eth_sendRawTransaction' && isFirst(String(raw)) ? 'swallowed' : undefined
    const stuck = await bench.intend(1)
    await bench.relayer.tick()
    const waiting: number[] = []
    for (const slot of slots(10)) waiting.push(await bench.intend(1 + slot, { candidates: both }))
    expect(new Set(await Promise.all(waiting.map(signerOf)))).toEqual(new Set(['relayer']))
    await bench.db.write((trx) =>
      trx.updateTable('transactions').set({ waiting: 'block' }).where('id', '=', stuck).execute(),
    )
    await bench.relayer.tick()
    expect(bench.relayer.status().map(({ jam }) => jam)).toEqual(['block', null])
    const fresh = await bench.intend(20, { candidates: await anyOf() })
    for (let round = 0; round < 6; round++) {
      await bench.relayer.tick()
      await bench.mine()
    }
    expect(new Set(await Promise.all([...waiting, fresh].map(bench.state)))).toEqual(new Set(['confirmed']))
    expect(new Set(await Promise.all([...waiting, fresh].map(senderOf)))).toEqual(
      new Set([secondKey.address]),
    )
    bench.node.fault = undefined
    await bench.finish()
    for (const slot of [...slots(11), 20]) expect(await bench.tallied(slot)).toBe(1)
  })

  test('ten that take the same intents over at once get each of them once', async () => {
    const ids = await Promise.all(slots(20).map((slot) => bench.intend(slot, { candidates: both })))
    const at = new Date(bench.clock.now()).toISOString()
    const takers = slots(10).map((taker) =>
      bench.db.write((trx) =>
        takeIntents(trx, { chainId: 31337, signer: `taker-${taker}`, from: ['relayer'], ids, at }),
      ),
    )
    const taken = (await Promise.all(takers)).flat().map(({ id }) => id)
    expect(taken.sort((a, b) => a - b)).toEqual(ids.sort((a, b) => a - b))
  })

  test('signed while another takes it: one of both wins, and it takes effect once', async () => {
    const ids = await Promise.all(slots(10).map((slot) => bench.intend(slot, { candidates: both })))
    const at = new Date(bench.clock.now()).toISOString()
    const take = bench.db.write((trx) =>
      takeIntents(trx, { chainId: 31337, signer: 'relayer-2', from: ['relayer'], ids, at }),
    )
    await Promise.all([bench.relayer.tick(), take])
    await bench.finish()
    expect(new Set(await Promise.all(ids.map(bench.state)))).toEqual(new Set(['confirmed']))
    for (const slot of slots(10)) expect(await bench.tallied(slot)).toBe(1)
  })

  test('what a relayer has that is not configured any more goes to another, unless it is signed', async () => {
    const signed = await bench.intend(1, { candidates: ['relayer-2'] })
    await bench.relayer.tick()
    const queued = await bench.intend(2, { candidates: ['relayer-2', 'relayer'] })
    const own = await bench.intend(3, { candidates: ['relayer-2'] })
    await bench.relayer.close()
    bench.relayer = await bench.open({ chains: [bench.chain({ signers: { relayer: relayerKey } })] })
    for (let round = 0; round < 4; round++) {
      await bench.relayer.tick()
      await bench.mine()
    }
    expect(await bench.state(queued)).toBe('confirmed')
    expect(await senderOf(queued)).toBe(relayerKey.address)
    expect(await Promise.all([signed, own].map(bench.state))).toEqual(['broadcast', 'queued'])
    // Nothing is lost: with both keys again, it goes on.
    await bench.relayer.close()
    bench.relayer = await bench.open()
    await bench.finish()
    for (const slot of slots(3)) expect(await bench.tallied(slot)).toBe(1)
  })
})

test('a relayer without money gets nothing new, and the other sends all', async () => {
  bench = await openBench({ chain: { signers: { relayer: relayerKey, 'relayer-2': poor } } })
  await bench.relayer.tick()
  expect(bench.relayer.status().map(({ jam }) => jam)).toEqual([null, 'funds'])
  const ids: number[] = []
  for (const slot of slots(6)) ids.push(await bench.intend(slot, { candidates: await anyOf() }))
  await bench.finish()
  expect(new Set(await Promise.all(ids.map(senderOf)))).toEqual(new Set([relayerKey.address]))
})

test('a key that cannot sign jams alone, and intents do not go back and forth', async () => {
  const away = {
    address: secondKey.address,
    signTransaction: () => Promise.reject(new Error('the signer does not answer')),
  }
  bench = await openBench({ chain: { signers: { relayer: relayerKey, 'relayer-2': away } } })
  await bench.relayer.tick()
  const ids: number[] = []
  for (const slot of slots(6)) ids.push(await bench.intend(slot, { candidates: ['relayer-2', 'relayer'] }))
  await bench.relayer.tick()
  expect(bench.relayer.status().map(({ jam }) => jam)).toEqual([null, 'node'])
  for (let round = 0; round < 4; round++) {
    await bench.relayer.tick()
    await bench.mine()
  }
  expect(new Set(await Promise.all(ids.map(bench.state)))).toEqual(new Set(['confirmed']))
  expect(new Set(await Promise.all(ids.map(senderOf)))).toEqual(new Set([relayerKey.address]))
})

describe('claims with two relayers', () => {
  let contract: Address
  beforeEach(async () => {
    const builders = {
      'phygital-claim': phygitalClaim({ signVerifier: () => signVerifier, expiryBlocks: () => 300 }),
    }
    bench = await openBench({ chain: { signers }, relayer: { builders } })
    const owner = relayerKey.address
    const args = [
      'Jackets',
      'JKT',
      'https://tap.example/',
      owner,
      signVerifier.address,
      [],
      owner,
      0n,
    ] as const
    const data = encodeDeployData({ abi: phygitalAbi, bytecode: phygitalBytecode, args })
    contract = getContractAddress({ from: owner, nonce: 0n })
    await bench.intend(0, { call: { to: null, data }, gasHint: 3_000_000, kind: 'deploy' })
    await bench.finish()
  })
  const phygital = () =>
    getContract({
      abi: phygitalAbi,
      address: contract,
      client: createPublicClient({ transport: http(bench.anvil.url) }),
    })
  const claim = async (tokenId: number, recipient: Address, call: ClaimArgs['call'], candidates = both) =>
    bench.intend(0, {
      call: { builder: 'phygital-claim', args: { contract, recipient, tokenId: String(tokenId), call } },
      counter: claimCounter(contract, recipient),
      topic: `token:31337/${contract}/${tokenId}`,
      kind: 'phygital-transfer',
      gasHint: 200_000,
      candidates,
    })
  const finished = async (ids: readonly number[]) => {
    await bench.finish()
    for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 1 })
  }

  test('of one recipient keep to one relayer, so that none is signed twice', async () => {
    const ids: number[] = []
    for (const tokenId of slots(12)) ids.push(await claim(tokenId, alice, 'mintNFT', [...(await anyOf())]))
    expect(new Set(await Promise.all(ids.map(signerOf))).size).toBe(1)
    await finished(ids)
    expect(await phygital().read.balanceOf([alice])).toBe(12n)
  })

  test('for one counter and for one token that raced on to two wait for each other, and each takes effect in its turn', async () => {
    const ids = [
      await claim(1, alice, 'mintNFT', ['relayer']),
      await claim(2, alice, 'mintNFT', ['relayer-2']),
      await claim(1, bob, 'claimNFT', ['relayer-2']),
      await claim(1, alice, 'claimNFT', ['relayer']),
    ]
    await finished(ids)
    expect(await phygital().read.ownerOf([1n])).toBe(getAddress(alice))
    expect(await phygital().read.balanceOf([alice])).toBe(2n)
  })

  test('recorded as by a daemon of the version before, which names no counter: a revert is signed anew', async () => {
    const recorded = await Promise.all(
      [1, 2].map((tokenId) =>
        bench.db.write((trx) =>
          recordIntent(trx, {
            chainId: 31337,
            candidates: both.slice(tokenId - 1, tokenId),
            call: {
              builder: 'phygital-claim',
              args: { contract, recipient: alice, tokenId: String(tokenId), call: 'mintNFT' },
            },
            kind: 'phygital-transfer',
            gasHint: 200_000,
            subject: { tokenId },
            teamId: null,
            now: bench.clock.now(),
          }),
        ),
      ),
    )
    await bench.finish()
    for (const id of recorded) expect(await bench.state(id)).toBe('confirmed')
    expect(await phygital().read.balanceOf([alice])).toBe(2n)
  })
})
