import { type Address, createPublicClient, getContract, http, toHex, zeroAddress } from 'viem'
import { foundry } from 'viem/chains'
import { namehash, normalize, packetToBytes } from 'viem/ens'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nameServiceAbi, nameServiceBytecode } from '../../src/daemon/chain/artifacts/name-service.ts'
import { type Chain, openChain, refusal } from './chain.ts'

let chain: Chain
let address: Address

beforeAll(async () => {
  chain = await openChain()
  address = await chain.deploy(nameServiceAbi, nameServiceBytecode, [chain.accounts.admin])
})
afterAll(() => chain?.close())

const names = () => getContract({ abi: nameServiceAbi, address, client: chain.client })
const setName = (name: string, account: Address) =>
  chain.mined(names().write.setName([name, account], { account: chain.accounts.admin }))

/** A client that knows this contract as the chain's universal resolver. */
const resolver = () =>
  createPublicClient({
    chain: { ...foundry, contracts: { ensUniversalResolver: { address } } },
    transport: http(chain.client.transport.url),
  })
const resolve = (name: string) => resolver().getEnsAddress({ name: normalize(name) })

describe('a name', () => {
  test('resolves to its address, by the coin of Ethereum and of this chain too', async () => {
    const { alice } = chain.accounts
    await setName('alice.eth', alice)
    expect(await resolve('alice.eth')).toBe(alice)
    expect(await resolve('Alice.ETH')).toBe(alice)
    const byCoin = (coinType: bigint) => resolver().getEnsAddress({ name: 'alice.eth', coinType })
    expect((await byCoin(60n))?.toLowerCase()).toBe(alice.toLowerCase())
    expect((await byCoin(0x80000000n + 31337n))?.toLowerCase()).toBe(alice.toLowerCase())
  })

  test('has any number of labels, in any script', async () => {
    const { bob } = chain.accounts
    for (const name of ['eth', 'pay.bob.eth', 'a.b.c.d.e.f.eth', 'mañana.eth', '🦊.eth']) {
      expect(await names().read.namehash([name])).toBe(namehash(name))
      await setName(name, bob)
      expect(await resolve(name)).toBe(bob)
    }
    expect(await names().read.namehash([''])).toBe(namehash(''))
  })

  test('that nobody set is no address, and neither is its parent or child', async () => {
    expect(await resolve('nobody.eth')).toBeNull()
    expect(await resolve('sub.alice.eth')).toBeNull()
    expect(await resolve('alice')).toBeNull()
  })

  test('points elsewhere when it is set again, and nowhere when it is set to zero', async () => {
    const { alice, bob } = chain.accounts
    await setName('moving.eth', alice)
    await setName('moving.eth', bob)
    expect(await resolve('moving.eth')).toBe(bob)
    await setName('moving.eth', zeroAddress)
    expect(await resolve('moving.eth')).toBeNull()
  })

  test('of an address is the last that was set for it', async () => {
    const { deployer, mallory } = chain.accounts
    const nameOf = (account: Address) => resolver().getEnsName({ address: account })
    expect(await nameOf(deployer)).toBeNull()
    await setName('first.eth', deployer)
    await setName('second.eth', deployer)
    expect(await nameOf(deployer)).toBe('second.eth')
    await setName('first.eth', mallory)
    expect([await nameOf(deployer), await nameOf(mallory)]).toEqual(['second.eth', 'first.eth'])
    await setName('second.eth', zeroAddress)
    expect(await nameOf(deployer)).toBeNull()
  })
})

describe('refused', () => {
  test('is a name set by anyone but the owner', async () => {
    const { mallory } = chain.accounts
    const call = names().simulate.setName(['alice.eth', mallory], { account: mallory })
    expect(await refusal(call)).toEqual(['OwnableUnauthorizedAccount', mallory])
  })

  test('is a deployment without an owner', async () => {
    expect(await chain.deployRefusal(nameServiceAbi, nameServiceBytecode, [zeroAddress])).toEqual([
      'OwnableInvalidOwner',
      zeroAddress,
    ])
  })

  test('is what ENS has besides addresses, with the errors that clients know', async () => {
    const name = toHex(packetToBytes('alice.eth'))
    const node = namehash('alice.eth').slice(2)
    const { read } = names()
    expect(await refusal(read.resolveWithGateways([name, `0xbc1c58d1${node}`, []]))).toEqual([
      'UnsupportedResolverProfile',
      '0xbc1c58d1',
    ])
    const unknown = `0x3b3b57de${namehash('nobody.eth').slice(2)}` as const
    expect(await refusal(read.resolveWithGateways([name, unknown, []]))).toEqual(['ResolverNotFound', name])
    expect(await resolver().getEnsAddress({ name: 'alice.eth', coinType: 0n })).toBeNull()
    expect(await resolver().getEnsName({ address: chain.accounts.alice, coinType: 0n })).toBeNull()
  })
})
