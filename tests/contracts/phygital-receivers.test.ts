import { decodeErrorResult, encodeFunctionData, toFunctionSelector } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { type Chain, openChain, refusal } from './chain.ts'
import { openPhygital } from './phygital.ts'
import { openReceiver } from './receiver.ts'

let chain: Chain
let phygital: Awaited<ReturnType<typeof openPhygital>>

beforeAll(async () => {
  chain = await openChain()
  phygital = await openPhygital(chain)
})
afterAll(() => chain?.close())

describe('a recipient that is a contract', () => {
  test('takes a token by mint and by claim, and gives it up by signature alone', async () => {
    const { alice } = chain.accounts
    const receiver = await openReceiver(chain)
    await phygital.mint({ recipient: receiver.address, tokenId: 1n })
    await phygital.mint({ recipient: alice, tokenId: 2n })
    await phygital.claim({ recipient: receiver.address, tokenId: 2n })
    expect(await receiver.contract.read.received()).toBe(2n)
    await phygital.claim({ recipient: alice, tokenId: 1n })
    expect(await phygital.owner(1n)).toBe(alice)
  })

  test('and cannot receive gets nothing: the token stays, and so does the nonce', async () => {
    const { alice, mallory: account } = chain.accounts
    const deaf = phygital.address
    await phygital.mint({ recipient: alice, tokenId: 10n })
    const claim = await phygital.signed({ recipient: deaf, tokenId: 10n })
    const mint = await phygital.signed({ recipient: deaf, tokenId: 11n })
    const expected = ['ERC721InvalidReceiver', deaf]
    expect(await refusal(phygital.contract.simulate.claimNFT(claim, { account }))).toEqual(expected)
    expect(await refusal(phygital.contract.simulate.mintNFT(mint, { account }))).toEqual(expected)
    expect(await phygital.owner(10n)).toBe(alice)
    expect(await phygital.contract.read.claimNonces([deaf])).toBe(0n)
  })

  test('and refuses says why in its own words', async () => {
    const receiver = await openReceiver(chain)
    await receiver.behave('refuse')
    const args = await phygital.signed({ recipient: receiver.address, tokenId: 12n })
    const refused = phygital.contract.simulate.mintNFT(args, { account: chain.accounts.mallory })
    // NotToday() is not in the contract's own ABI: what arrives is its selector.
    await expect(refused).rejects.toThrow(toFunctionSelector('NotToday()'))
  })

  test('and calls back while it receives cannot use the claim again, nor move what it just got', async () => {
    const { mallory } = chain.accounts
    const receiver = await openReceiver(chain)
    const args = await phygital.signed({ recipient: receiver.address, tokenId: 20n })
    const again = (functionName: 'mintNFT' | 'claimNFT') =>
      encodeFunctionData({ abi: phygitalAbi, functionName, args })
    const away = encodeFunctionData({
      abi: phygitalAbi,
      functionName: 'transferFrom',
      args: [receiver.address, mallory, 20n],
    })
    await receiver.behave('callBack', phygital.address, [again('mintNFT'), again('claimNFT'), away])
    await chain.mined(phygital.contract.write.mintNFT(args, { account: mallory }))
    expect(await receiver.contract.read.callsDone()).toBe(0n)
    expect(await receiver.contract.read.received()).toBe(1n)
    expect(await phygital.owner(20n)).toBe(receiver.address)
    expect(await phygital.contract.read.balanceOf([receiver.address])).toBe(1n)
    expect(await phygital.contract.read.claimNonces([receiver.address])).toBe(1n)
    const lastError = await receiver.contract.read.lastError()
    expect(decodeErrorResult({ abi: phygitalAbi, data: lastError }).errorName).toBe('TransferBySignatureOnly')
  })

  test('and calls back with a second signature that was made for it gets both tokens, each once', async () => {
    const receiver = await openReceiver(chain)
    const recipient = receiver.address
    const first = await phygital.signed({ recipient, tokenId: 30n })
    const second = await phygital.signed({ recipient, tokenId: 31n, nonce: 1n })
    const call = encodeFunctionData({ abi: phygitalAbi, functionName: 'mintNFT', args: second })
    await receiver.behave('callBack', phygital.address, [call, call])
    await chain.mined(phygital.contract.write.mintNFT(first, { account: chain.accounts.mallory }))
    expect(await receiver.contract.read.callsDone()).toBe(1n)
    expect(await phygital.contract.read.balanceOf([recipient])).toBe(2n)
    expect(await phygital.contract.read.claimNonces([recipient])).toBe(2n)
  })
})
