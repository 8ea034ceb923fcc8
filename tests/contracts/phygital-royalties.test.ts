import { type Address, getContract, maxUint256, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { type Chain, eventsOf, openChain, refusal } from './chain.ts'
import { openPhygital, serviceURL, signer } from './phygital.ts'

let chain: Chain
let phygital: Awaited<ReturnType<typeof openPhygital>>

beforeAll(async () => {
  chain = await openChain()
  phygital = await openPhygital(chain)
})
afterAll(() => chain?.close())

describe('a royalty', () => {
  const set = (receiver: Address, basisPoints: bigint) =>
    chain.mined(
      phygital.contract.write.setRoyalty([receiver, basisPoints], { account: chain.accounts.admin }),
    )
  const of = (price: bigint, tokenId = 1n) => phygital.contract.read.royaltyInfo([tokenId, price])

  test('is none at first, and then the owner’s word for every token, minted or not', async () => {
    const { bob, alice } = chain.accounts
    expect(await of(10_000n)).toEqual([zeroAddress, 0n])
    expect(eventsOf(phygitalAbi, await set(bob, 250n))).toEqual([
      ['RoyaltyUpdated', bob, 250n],
      ['ContractURIUpdated'],
    ])
    expect(await of(10_000n)).toEqual([bob, 250n])
    expect(await of(39n, maxUint256)).toEqual([bob, 0n])
    // The product does not fit 256 bits; the royalty does.
    expect(await of(maxUint256)).toEqual([bob, maxUint256 / 40n])
    await set(alice, 10_000n)
    expect(await of(123n)).toEqual([alice, 123n])
    await set(alice, 0n)
    expect(await of(123n)).toEqual([zeroAddress, 0n])
    await set(zeroAddress, 0n)
  })

  test('is at most the whole price, for somebody, and set by the owner alone', async () => {
    const { admin, bob, minter } = chain.accounts
    const { simulate } = phygital.contract
    const refused = (account: Address, receiver: Address, basisPoints: bigint) =>
      refusal(simulate.setRoyalty([receiver, basisPoints], { account }))
    expect(await refused(admin, bob, 10_001n)).toEqual(['ERC2981InvalidDefaultRoyalty', 10_001n, 10_000n])
    expect(await refused(admin, zeroAddress, 1n)).toEqual([
      'ERC2981InvalidDefaultRoyaltyReceiver',
      zeroAddress,
    ])
    expect(await refused(minter, bob, 1n)).toEqual(['OwnableUnauthorizedAccount', minter])
  })

  test('can come with the deployment, with several refreshers', async () => {
    const { admin, alice, bob, minter } = chain.accounts
    const args = ['N', 'S', serviceURL, admin, signer.address, [minter, alice], bob, 750n] as const
    const address = await chain.deploy(phygitalAbi, phygitalBytecode, args)
    const { read } = getContract({ abi: phygitalAbi, address, client: chain.client })
    expect(await read.royaltyInfo([5n, 1000n])).toEqual([bob, 75n])
    expect(await Promise.all([minter, alice, bob].map((who) => read.isRefresher([who])))).toEqual([
      true,
      true,
      false,
    ])
    const refused = (receiver: Address, basisPoints: bigint) =>
      chain.deployRefusal(phygitalAbi, phygitalBytecode, [...args.slice(0, 6), receiver, basisPoints])
    expect((await refused(bob, 10_001n))[0]).toBe('ERC2981InvalidDefaultRoyalty')
    expect((await refused(zeroAddress, 1n))[0]).toBe('ERC2981InvalidDefaultRoyaltyReceiver')
  })
})

test('the collection’s own metadata is announced by the refresher and the owner, and by nobody else', async () => {
  const { admin, minter, mallory } = chain.accounts
  const { write, simulate } = phygital.contract
  for (const account of [admin, minter])
    expect(eventsOf(phygitalAbi, await chain.mined(write.refreshContractURI({ account })))).toEqual([
      ['ContractURIUpdated'],
    ])
  expect(await refusal(simulate.refreshContractURI({ account: mallory }))).toEqual(['NotRefresher', mallory])
})
