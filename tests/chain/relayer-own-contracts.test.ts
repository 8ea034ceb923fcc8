import {
  type Address,
  createPublicClient,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getContract,
  getContractAddress,
  http,
  toHex,
} from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contractMove } from '../../src/daemon/chain/relayer/contract-move.ts'
import { teamTokenAbi, teamTokenBytecode } from '../contracts/artifacts/team-token.ts'
import { type Bench, gwei, openBench, relayerKey } from '../support/relayer.ts'
import { moods } from '../support/team-token.ts'

// Accounts of anvil, which signs for them.
const brand: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const alice: Address = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const bob: Address = getAddress('0xb0b0000000000000000000000000000000000002')

const transfer = {
  name: 'transferFrom',
  types: ['address', 'address', 'uint256'],
  args: ['owner', 'recipient', 'tokenId'],
}
/** Names no owner, so nothing in the call itself prevents a second effect. */
const deliver = { name: 'deliver', types: ['address', 'uint256'], args: ['recipient', 'tokenId'] }
const mintTo = { name: 'mintTo', types: ['address', 'uint256'], args: ['recipient', 'tokenId'] }

let bench: Bench
let contract: Address

type Call = { functionName: string; args?: readonly unknown[] }
const sendAs = async (from: Address, call: Call, gwei_ = 2n, more: object = {}): Promise<void> => {
  const data = encodeFunctionData({ abi: teamTokenAbi, ...call } as Parameters<typeof encodeFunctionData>[0])
  const fees = { maxFeePerGas: toHex(gwei_ * 10n * gwei), maxPriorityFeePerGas: toHex(gwei_ * gwei) }
  await bench.rpc('eth_sendTransaction', [
    { from, to: contract, data, gas: toHex(300_000), ...fees, ...more },
  ])
}
const minedAs = async (from: Address, call: Call): Promise<void> => {
  await sendAs(from, call)
  await bench.mine()
}

beforeEach(async () => {
  bench = await openBench({ confirmations: 2, relayer: { builders: { 'contract-move': contractMove } } })
  const data = encodeDeployData({ abi: teamTokenAbi, bytecode: teamTokenBytecode, args: [brand] })
  contract = getContractAddress({ from: relayerKey.address, nonce: 0n })
  await bench.intend(0, { call: { to: null, data }, gasHint: 3_000_000, kind: 'deploy' })
  await bench.finish()
  const { read } = token()
  const roles = [await read.MINTER_ROLE(), await read.COURIER_ROLE()]
  for (const role of roles)
    await sendAs(brand, { functionName: 'grantRole', args: [role, relayerKey.address] })
  for (const holder of [brand, alice])
    await sendAs(holder, { functionName: 'setApprovalForAll', args: [relayerKey.address, true] })
  await bench.mine()
  await minedAs(brand, { functionName: 'grantRole', args: [roles[0], brand] })
  for (const id of [1n, 2n]) await sendAs(brand, { functionName: 'mintTo', args: [brand, id] })
  await bench.mine()
})
afterEach(() => bench.close())

const token = () =>
  getContract({
    abi: teamTokenAbi,
    address: contract,
    client: createPublicClient({ transport: http(bench.anvil.url) }),
  })
const ownerOf = (id: number) => token().read.ownerOf([BigInt(id)])
/** How often a token moved to somebody. */
const movesTo = async (to: Address, id: number): Promise<number> =>
  (await token().getEvents.Transfer({ to, tokenId: BigInt(id) }, { fromBlock: 0n })).length

const move = (
  id: number,
  recipient: Address,
  { owners = [brand] as Address[], by = transfer, call = 'claimNFT' } = {},
): Promise<number> =>
  bench.intend(0, {
    call: {
      builder: 'contract-move',
      args: { contract, recipient, tokenId: String(id), call, owners, with: by, baseUri: '' },
    },
    gasHint: 200_000,
    kind: call === 'mintNFT' ? 'phygital-mint' : 'phygital-transfer',
    topic: `token:${id}`,
  })
const reason = async (id: number) => (await bench.show(id)).reason

describe('a transfer of a contract that takes no claims', () => {
  test('and one back that was requested before it was mined follow each other', async () => {
    const [there, back] = [await move(1, alice), await move(1, brand, { owners: [brand, alice] })]
    await bench.relayer.tick()
    expect(await bench.state(back)).toBe('queued')
    await bench.finish()
    expect([await bench.state(there), await bench.state(back)]).toEqual(['confirmed', 'confirmed'])
    expect(await ownerOf(1)).toBe(brand)
    expect([await movesTo(alice, 1), await movesTo(brand, 1)]).toEqual([1, 2])
  })

  test('holds up nobody else while it waits for its turn', async () => {
    const ids = [await move(1, alice), await move(1, brand, { owners: [brand, alice] }), await move(2, bob)]
    await bench.relayer.tick()
    expect(await Promise.all(ids.map(bench.state))).toEqual(['broadcast', 'queued', 'broadcast'])
  })

  test('is not sent where its holder moved the token before, and says so', async () => {
    const id = await move(1, bob)
    await minedAs(brand, { functionName: 'transferFrom', args: [brand, alice, 1n] })
    await bench.finish()
    expect(await bench.state(id)).toBe('cancelled')
    expect(await reason(id)).toMatch(new RegExp(`belongs to ${alice}, unlike when this was requested`))
    expect(await ownerOf(1)).toBe(alice)
  })

  test('is reverted where its holder is faster, and is not sent again', async () => {
    const id = await move(1, bob)
    await bench.relayer.tick()
    await sendAs(brand, { functionName: 'transferFrom', args: [brand, alice, 1n] }, 9n)
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({
      state: 'reverted',
      signings: 1,
      reason: expect.stringMatching(/^ERC721IncorrectOwner\(/),
    })
    expect(await ownerOf(1)).toBe(alice)
  })

  test('is not sent to whom the token belongs by now', async () => {
    const id = await move(1, alice)
    await minedAs(brand, { functionName: 'transferFrom', args: [brand, alice, 1n] })
    await bench.finish()
    expect(await reason(id)).toMatch(/belongs to 0x.* already/)
    expect(await movesTo(alice, 1)).toBe(1)
  })

  test('whose nonce something else used is not sent a second time once its effect was there', async () => {
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'swallowed' : undefined)
    const id = await move(1, alice, { by: deliver })
    await bench.relayer.tick()
    const nonce = { nonce: toHex(await bench.nonce()) }
    bench.node.fault = undefined
    await sendAs(relayerKey.address, { functionName: 'deliver', args: [alice, 1n] }, 9n, nonce)
    await bench.mine()
    // The holder gives it back: by its owner alone, nothing seems to have happened.
    await minedAs(alice, { functionName: 'transferFrom', args: [alice, brand, 1n] })
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
    expect(await reason(id)).toMatch(/by another transaction/)
    expect(await movesTo(alice, 1)).toBe(1)
    expect(await ownerOf(1)).toBe(brand)
  })

  test('whose nonce something else used without its effect is signed again', async () => {
    bench.node.fault = (method) => (method === 'eth_sendRawTransaction' ? 'swallowed' : undefined)
    const id = await move(1, alice)
    await bench.relayer.tick()
    const nonce = { nonce: toHex(await bench.nonce()) }
    bench.node.fault = undefined
    await sendAs(relayerKey.address, { functionName: 'behave', args: [moods.normal] }, 9n, nonce)
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 2 })
    expect(await movesTo(alice, 1)).toBe(1)
  })

  test('is judged at the head, not by a node that is behind', async () => {
    const id = await move(1, bob)
    let behind = true
    const blocks: unknown[] = []
    bench.node.fault = (method, [, block]) => {
      if (method !== 'eth_call') return undefined
      blocks.push(block)
      return behind ? { error: { code: -32000, message: 'header not found' } } : undefined
    }
    await bench.relayer.tick()
    expect(await bench.state(id)).toBe('queued')
    behind = false
    bench.clock.advance('10s')
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
    expect(blocks).not.toContain('latest')
    expect(blocks).not.toContain(undefined)
  })

  test('survives the loss of the process at each step, once', async () => {
    const steps: (() => Promise<unknown>)[] = [
      async () => undefined,
      () => bench.relayer.tick(),
      () => bench.mine(),
      () => bench.relayer.tick(),
    ]
    for (const [kills, by] of [transfer, deliver, transfer, deliver].entries()) {
      const recipient = getAddress(`0xc0ffee000000000000000000000000000000000${kills}`)
      const id = await move(kills < 2 ? kills + 1 : kills + 8, recipient, {
        ...(kills < 2 ? { by } : { by: mintTo, call: 'mintNFT', owners: [] }),
      })
      for (const step of steps.slice(0, kills + 1)) await step()
      await bench.restart()
      await bench.finish()
      expect(await bench.show(id)).toMatchObject({ state: 'confirmed', signings: 1 })
      expect(await movesTo(recipient, kills < 2 ? kills + 1 : kills + 8)).toBe(1)
    }
  })

  test('taken back by a reorganization is mined again, once', async () => {
    const id = await move(1, alice)
    await bench.relayer.tick()
    const before = await bench.rpc('evm_snapshot')
    await bench.mine()
    await bench.relayer.tick()
    expect(await bench.state(id)).toBe('mined')
    await bench.rpc('evm_revert', [before])
    await bench.finish()
    expect(await ownerOf(1)).toBe(alice)
    expect(await bench.state(id)).toBe('confirmed')
  })
})

describe('a mint', () => {
  test('is not sent where somebody minted the token before', async () => {
    const id = await move(7, bob, { by: mintTo, call: 'mintNFT', owners: [] })
    await minedAs(brand, { functionName: 'mintTo', args: [alice, 7n] })
    await bench.finish()
    expect(await bench.state(id)).toBe('cancelled')
    expect(await reason(id)).toMatch(new RegExp(`belongs to ${alice}`))
  })

  test('and the transfer after it follow each other', async () => {
    await move(8, alice, { by: mintTo, call: 'mintNFT', owners: [] })
    const next = await move(8, bob, { owners: [alice] })
    await bench.finish()
    expect(await bench.state(next)).toBe('confirmed')
    expect(await ownerOf(8)).toBe(bob)
  })
})

describe('a contract that means no good', () => {
  test('has moved nothing where its call succeeds without effect', async () => {
    const id = await move(1, bob)
    await minedAs(brand, { functionName: 'behave', args: [moods.silent] })
    await bench.finish()
    expect(await bench.state(id)).toBe('reverted')
    expect(await reason(id)).toBe(`the call succeeded, but token 1 belongs to ${brand}`)
  })

  test('has moved the token where the recipient moved it on in the same moment', async () => {
    const id = await move(1, alice)
    await bench.relayer.tick()
    const order = { functionName: 'transferFrom', args: [alice, bob, 1n] }
    await bench.mine()
    await minedAs(alice, order)
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
    expect(await ownerOf(1)).toBe(bob)
  })

  test('that reverts with 100 kB is refused in a line, and holds up nobody', async () => {
    const id = await move(1, bob)
    await minedAs(brand, { functionName: 'behave', args: [moods.flood] })
    const other = await bench.intend(9)
    await bench.finish()
    expect(await bench.state(id)).toBe('cancelled')
    expect((await reason(id))?.length).toBeLessThan(500)
    expect(await bench.state(other)).toBe('confirmed')
  })

  const garbled = [
    ['answers with no address', '0x5f195f5260205ff3', 'cancelled', /cannot be asked: what 0x/],
    ['answers with nothing', '0x00', 'cancelled', /cannot be asked: what 0x/],
    ['is gone', '0x', 'cancelled', /cannot be asked: what 0x/],
    ['answers with 1 MB', '0x620f42405ff3', 'cancelled', /token 1 does not exist/],
    ['reverts with junk', '0x5f195f5260075ffd', 'cancelled', /token 1 does not exist/],
    ['reverts with 1 MB', '0x620f42405ffd', 'cancelled', /token 1 does not exist/],
    ['uses up all gas', '0x5b5f56', 'cancelled', /token 1 does not exist/],
  ] as const
  test.each(garbled)(
    'that %s by now ends its transfer after a few tries, is never stuck, and holds up nobody',
    async (_, code, state, why) => {
      const id = await move(1, bob)
      await bench.rpc('anvil_setCode', [contract, code])
      const other = await bench.intend(9)
      for (let seconds = 0; seconds < 10; seconds += 1) {
        const [status] = await bench.relayer.tick()
        expect(status?.stuck).toBeUndefined()
        expect(await bench.state(other)).not.toBe('queued')
        bench.clock.advance('1s')
        await bench.mine()
      }
      expect(await bench.state(id)).toBe(state)
      expect(await reason(id)).toMatch(why)
      expect((await reason(id))?.length).toBeLessThan(500)
      expect(await bench.state(other)).toBe('confirmed')
    },
  )

  test.each(garbled)('that %s once its transfer is mined ends it, too', async (_, code) => {
    const id = await move(1, bob)
    await bench.relayer.tick()
    await bench.mine()
    await bench.rpc('anvil_setCode', [contract, code])
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
  })

  test('that answers with more than is taken ends its transfers', async () => {
    const id = await move(1, bob)
    const other = await move(2, bob)
    bench.node.fault = (method, [call]) =>
      method === 'eth_call' && JSON.stringify(call).includes('0x6352211e')
        ? { result: `0x${'f'.repeat(9_000_000)}` }
        : undefined
    for (let tries = 0; tries < 3; tries += 1) {
      await bench.relayer.tick()
      bench.clock.advance('3s')
    }
    expect(await bench.state(id)).toBe('queued')
    await bench.relayer.tick()
    expect(await bench.state(id)).toBe('cancelled')
    expect(await reason(id)).toMatch(/cannot be asked: .* more than \d+ bytes/)
    expect(await bench.state(other)).toBe('cancelled')
  })

  test('is not blamed while the node does not answer', async () => {
    const id = await move(1, bob)
    bench.node.fault = (method) =>
      method === 'eth_call' ? { error: { code: -32000, message: 'header not found' } } : undefined
    for (let tries = 0; tries < 9; tries += 1) {
      await bench.relayer.tick()
      bench.clock.advance('3s')
    }
    expect(await bench.show(id)).toMatchObject({ state: 'queued', waiting: 'builder' })
    bench.node.fault = undefined
    await bench.finish()
    expect(await bench.state(id)).toBe('confirmed')
  })

  test('cannot put control characters into a reason', async () => {
    const id = await move(1, bob)
    await minedAs(brand, { functionName: 'behave', args: [moods.closed] })
    await bench.finish()
    expect(await bench.state(id)).toBe('cancelled')
    expect(await reason(id)).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})
