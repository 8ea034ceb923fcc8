import { type Address, encodeFunctionData, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { type Chain, claimHash, eventsOf, groupHash, openChain, refusal, signClaim } from './chain.ts'
import { later, openPhygital, signer, stranger } from './phygital.ts'
import { openReceiver } from './receiver.ts'

let chain: Chain
let phygital: Awaited<ReturnType<typeof openPhygital>>
let account: Address

beforeAll(async () => {
  chain = await openChain()
  phygital = await openPhygital(chain)
  account = chain.accounts.mallory
})
afterAll(() => chain?.close())

type Mints = Parameters<typeof phygital.group>[0]
const simulate = (args: Awaited<ReturnType<typeof phygital.group>>) =>
  refusal(phygital.contract.simulate.mintMany(args, { account }))
const refused = async (...args: Parameters<typeof phygital.group>) => simulate(await phygital.group(...args))
const mint = async (mints: Mints) =>
  chain.mined(phygital.contract.write.mintMany(await phygital.group(mints), { account }))

describe('a group of mints', () => {
  test('gives each token to its recipient, by one signature, whoever submits it, and uses no nonce', async () => {
    const { alice, bob } = chain.accounts
    const receipt = await mint([
      [alice, 1n],
      [bob, 2n],
      [alice, 3n],
    ])
    expect(await Promise.all([1n, 2n, 3n].map(phygital.owner))).toEqual([alice, bob, alice])
    expect(eventsOf(phygitalAbi, receipt)).toEqual([
      ['Transfer', zeroAddress, alice, 1n],
      ['Transfer', zeroAddress, bob, 2n],
      ['Transfer', zeroAddress, alice, 3n],
    ])
    expect(await phygital.contract.read.claimNonces([alice])).toBe(0n)
  })

  test('works once, and names the token that somebody has: tokens that are minted stay so for ever', async () => {
    const { alice, bob } = chain.accounts
    const args = await phygital.group([[alice, 10n]])
    await chain.mined(phygital.contract.write.mintMany(args, { account }))
    expect(await simulate(args)).toEqual(['AlreadyMinted', 10n])
    // Not even a token that has left its first owner can be minted again.
    await phygital.claim({ recipient: bob, tokenId: 10n })
    expect(await simulate(args)).toEqual(['AlreadyMinted', 10n])
    // The one way to have no owner would be to move it to the zero address.
    const names = phygitalAbi.flatMap((entry) => (entry.type === 'function' ? [entry.name] : []))
    expect(names.filter((name) => /burn/i.test(name))).toEqual([])
    expect(
      await refusal(
        phygital.contract.simulate.claimNFT(await phygital.signed({ recipient: zeroAddress, tokenId: 10n }), {
          account,
        }),
      ),
    ).toEqual(['ERC721InvalidReceiver', zeroAddress])
  })

  test('is all or nothing: one token that somebody has, twice the same, or nobody to give it to', async () => {
    const { alice, bob } = chain.accounts
    await mint([[alice, 20n]])
    expect(
      await refused([
        [bob, 21n],
        [bob, 20n],
      ]),
    ).toEqual(['AlreadyMinted', 20n])
    expect(
      await refused([
        [bob, 22n],
        [alice, 22n],
      ]),
    ).toEqual(['AlreadyMinted', 22n])
    expect(await refused([[zeroAddress, 23n]])).toEqual(['ERC721InvalidReceiver', zeroAddress])
    for (const tokenId of [21n, 22n, 23n])
      expect(await refusal(phygital.owner(tokenId))).toEqual(['ERC721NonexistentToken', tokenId])
  })

  test('has as many recipients as tokens, at least one, and no more than fit', async () => {
    const { alice } = chain.accounts
    const sizes = async (recipients: number, tokenIds: number) =>
      simulate([
        '0x',
        later,
        Array.from({ length: recipients }, () => alice),
        Array.from({ length: tokenIds }, (_, at) => BigInt(at)),
      ])
    expect(await sizes(0, 0)).toEqual(['WrongGroupSize', 0n, 0n])
    expect(await sizes(1, 2)).toEqual(['WrongGroupSize', 1n, 2n])
    expect(await sizes(2, 1)).toEqual(['WrongGroupSize', 2n, 1n])
    expect(await sizes(501, 501)).toEqual(['WrongGroupSize', 501n, 501n])
    expect((await sizes(500, 500))[0]).toBe('ECDSAInvalidSignatureLength')
  })
})

describe('the signature of a group', () => {
  test('is for these tokens, recipients, order, expiry, contract and chain, and by the sign verifier', async () => {
    const { alice, bob } = chain.accounts
    const mints = [
      [alice, 30n],
      [bob, 31n],
    ] as const
    const [sig, expiry, recipients, tokenIds] = await phygital.group(mints)
    const swapped = [bob, alice] as const
    for (const args of [
      [sig, expiry, swapped, tokenIds],
      [sig, expiry, recipients, [31n, 30n]],
      [sig, expiry, swapped, [31n, 30n]],
      [sig, expiry, recipients, [30n, 32n]],
      [sig, expiry, [alice], [30n]],
      [sig, expiry + 1n, recipients, tokenIds],
    ] as const)
      expect((await refusal(phygital.contract.simulate.mintMany(args, { account })))[0]).toBe(
        'WrongGroupSigner',
      )
    expect((await refused(mints, { chainId: 1 }))[0]).toBe('WrongGroupSigner')
    expect((await refused(mints, { contract: alice }))[0]).toBe('WrongGroupSigner')
    expect(await refused(mints, { by: stranger })).toEqual(['WrongGroupSigner', stranger.address])
    await mint(mints)
  })

  test('that another contract of the same sign verifier takes is refused here', async () => {
    const other = await openPhygital(chain)
    const args = await other.group([[chain.accounts.alice, 33n]])
    await other.contract.simulate.mintMany(args, { account })
    expect((await simulate(args))[0]).toBe('WrongGroupSigner')
  })

  test('ends with its expiry, and with its sign verifier', async () => {
    const { alice, admin } = chain.accounts
    const now = await chain.client.getBlockNumber({ cacheTime: 0 })
    expect((await refused([[alice, 34n]], { blockExpiry: now })).slice(0, 2)).toEqual(['ClaimExpired', now])
    const args = await phygital.group([[alice, 34n]])
    const set = (address: Address) =>
      chain.mined(phygital.contract.write.setSignVerifier([address], { account: admin }))
    await set(stranger.address)
    expect(await simulate(args)).toEqual(['WrongGroupSigner', signer.address])
    await set(signer.address)
    await chain.mined(phygital.contract.write.mintMany(args, { account }))
  })

  test('is none of a claim, and a claim’s is none of a group', async () => {
    const { alice } = chain.accounts
    const { contract, address } = phygital
    const nonce = await contract.read.claimNonces([alice])
    const claim = { blockExpiry: later, recipient: alice, tokenId: 35n, contract: address, nonce }
    const [group] = await phygital.group([[alice, 35n]])
    for (const use of ['mintNFT', 'claimNFT'] as const) {
      const tokenId = use === 'mintNFT' ? 35n : 1n
      const [asClaim] = await phygital.group([[alice, tokenId]])
      expect((await refusal(contract.simulate[use]([asClaim, later, alice, tokenId], { account })))[0]).toBe(
        'WrongSigner',
      )
    }
    expect((await simulate([await signClaim(signer, claim), later, [alice], [35n]]))[0]).toBe(
      'WrongGroupSigner',
    )
    expect(groupHash({ ...claim, chainId: 31337, recipients: [alice], tokenIds: [35n] })).not.toBe(
      claimHash(claim),
    )
    // Both are good where they belong.
    await contract.simulate.mintMany([group, later, [alice], [35n]], { account })
    await contract.simulate.mintNFT([await signClaim(signer, claim), later, alice, 35n], { account })
  })
})

describe('a contract among the recipients', () => {
  test('takes its token, or is named and nobody gets any', async () => {
    const { alice } = chain.accounts
    const receiver = await openReceiver(chain)
    await mint([
      [alice, 40n],
      [receiver.address, 41n],
    ])
    expect(await receiver.contract.read.received()).toBe(1n)
    await receiver.behave('refuse')
    const mints = (to: Address) =>
      [
        [alice, 42n],
        [alice, 43n],
        [to, 44n],
      ] as const
    expect(await refused(mints(receiver.address))).toEqual(['MintRefused', 2n, receiver.address, 44n])
    // No such function there.
    expect(await refused(mints(phygital.address))).toEqual(['MintRefused', 2n, phygital.address, 44n])
    expect(await refusal(phygital.owner(42n))).toEqual(['ERC721NonexistentToken', 42n])
  })

  test('that calls back with the group itself mints nothing twice', async () => {
    const { alice } = chain.accounts
    const receiver = await openReceiver(chain)
    const args = await phygital.group([
      [receiver.address, 50n],
      [alice, 51n],
    ])
    const again = encodeFunctionData({ abi: phygitalAbi, functionName: 'mintMany', args })
    await receiver.behave('callBack', phygital.address, [again])
    await chain.mined(phygital.contract.write.mintMany(args, { account }))
    expect(await receiver.contract.read.callsDone()).toBe(0n)
    expect(await phygital.owner(50n)).toBe(receiver.address)
    expect(await phygital.owner(51n)).toBe(alice)
    expect(await phygital.contract.read.balanceOf([alice])).toBeGreaterThan(0n)
  })

  test('that calls back with what comes later in the group, signed for it, only makes the group fail', async () => {
    const receiver = await openReceiver(chain)
    const to = receiver.address
    const group = await phygital.group([
      [to, 60n],
      [to, 61n],
      [to, 62n],
    ])
    const alone = await phygital.signed({ recipient: to, tokenId: 61n })
    const part = await phygital.group([[to, 62n]])
    const calls = {
      61: encodeFunctionData({ abi: phygitalAbi, functionName: 'mintNFT', args: alone }),
      62: encodeFunctionData({ abi: phygitalAbi, functionName: 'mintMany', args: part }),
    }
    for (const [tokenId, call] of Object.entries(calls)) {
      await receiver.behave('callBack', phygital.address, [call])
      expect(await simulate(group)).toEqual(['AlreadyMinted', BigInt(tokenId)])
    }
    expect(await phygital.contract.read.balanceOf([to])).toBe(0n)
    await receiver.behave('accept')
    await chain.mined(phygital.contract.write.mintMany(group, { account }))
    expect(await phygital.contract.read.balanceOf([to])).toBe(3n)
  })

  test('that moves what it just got, by a claim of its own, moves that and no more', async () => {
    const { alice, bob } = chain.accounts
    const receiver = await openReceiver(chain)
    const away = await phygital.signed({ recipient: bob, tokenId: 70n })
    const call = encodeFunctionData({ abi: phygitalAbi, functionName: 'claimNFT', args: away })
    await receiver.behave('callBack', phygital.address, [call])
    await mint([
      [receiver.address, 70n],
      [alice, 71n],
    ])
    expect([await phygital.owner(70n), await phygital.owner(71n)]).toEqual([bob, alice])
  })
})
