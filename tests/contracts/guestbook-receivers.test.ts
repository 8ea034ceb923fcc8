import { type Address, encodeFunctionData, toFunctionSelector } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { type Chain, openChain, refusal } from './chain.ts'
import { guestbookEvents, intent, openGuestbook } from './guestbook.ts'
import { openReceiver } from './receiver.ts'

let chain: Chain
let guestbook: Awaited<ReturnType<typeof openGuestbook>>

beforeAll(async () => {
  chain = await openChain()
  guestbook = await openGuestbook(chain)
  await guestbook.createEvent(1n)
})
afterAll(() => chain?.close())

describe('a guest that is a contract', () => {
  test('takes its token, alone and in a batch', async () => {
    const { address } = await openReceiver(chain)
    await guestbook.mint(address, 1n, 'alone')
    await guestbook.mintBatch([{ to: address, tokenId: 1n, name: 'in-batch' }])
    expect(await guestbook.balance(address, 1n)).toBe(2n)
  })

  test('and cannot receive gets nothing, and its intent is still to be done', async () => {
    const { minter: account } = chain.accounts
    const deaf = guestbook.factory.address
    const refused = guestbook.contract.simulate.mint([deaf, 1n, intent('deaf')], { account })
    expect(await refusal(refused)).toEqual(['ERC1155InvalidReceiver', deaf])
    expect(await guestbook.contract.read.intentDone([intent('deaf')])).toBe(false)
  })

  test('and refuses says why in its own words', async () => {
    const { minter: account } = chain.accounts
    const receiver = await openReceiver(chain)
    await receiver.behave('refuse')
    const refused = guestbook.contract.simulate.mint([receiver.address, 1n, intent('rude')], { account })
    await expect(refused).rejects.toThrow(toFunctionSelector('NotToday()'))
  })

  test('and calls back while it receives gets no second token, not even where it may mint', async () => {
    const { admin } = chain.accounts
    const receiver = await openReceiver(chain)
    const repeated = (to: Address, name: string) =>
      encodeFunctionData({ abi: guestbookAbi, functionName: 'mint', args: [to, 1n, intent(name)] })
    const inside = encodeFunctionData({
      abi: guestbookAbi,
      functionName: 'mintFromBatch',
      args: [{ to: receiver.address, tokenId: 1n, intentId: intent('other') }],
    })
    await receiver.behave('callBack', guestbook.address, [inside, repeated(receiver.address, 'loop')])
    await guestbook.mint(receiver.address, 1n, 'loop')
    expect(await receiver.contract.read.callsDone()).toBe(0n)
    expect(await guestbook.balance(receiver.address, 1n)).toBe(1n)

    const trusted = await openReceiver(chain)
    await chain.mined(guestbook.contract.write.setMinter([trusted.address, true], { account: admin }))
    await trusted.behave('callBack', guestbook.address, [repeated(trusted.address, 'trusted')])
    await guestbook.mint(trusted.address, 1n, 'trusted')
    expect(await trusted.contract.read.callsDone()).toBe(1n)
    expect(await guestbook.balance(trusted.address, 1n)).toBe(1n)
  })
})

describe('a batch', () => {
  test('goes on past guests that refuse, cannot receive or burn all gas, and names them', async () => {
    const { alice, bob } = chain.accounts
    const rude = await openReceiver(chain)
    await rude.behave('refuse')
    const greedy = await openReceiver(chain)
    await greedy.behave('burnGas')
    const deaf = guestbook.factory.address
    const entries = [
      { to: alice, tokenId: 1n, name: 'a' },
      { to: rude.address, tokenId: 1n, name: 'b' },
      { to: greedy.address, tokenId: 1n, name: 'c' },
      { to: deaf, tokenId: 1n, name: 'd' },
      { to: bob, tokenId: 1n, name: 'e' },
    ]
    const receipt = await guestbook.mintBatch(entries)
    // What one guest can burn has a bound, however much gas the batch was given.
    expect(receipt.gasUsed).toBeLessThan(700_000n)
    expect(
      guestbookEvents(receipt).map(([name, id, to]) => (name === 'MintRefused' ? [name, id, to] : name)),
    ).toEqual([
      'TransferSingle',
      ['MintRefused', intent('b'), rude.address],
      ['MintRefused', intent('c'), greedy.address],
      ['MintRefused', intent('d'), deaf],
      'TransferSingle',
    ])
    expect(await guestbook.balance(alice, 1n)).toBe(1n)
    expect(await guestbook.balance(bob, 1n)).toBe(1n)
    expect(await guestbook.contract.read.intentDone([intent('b')])).toBe(false)

    await rude.behave('accept')
    await guestbook.mintBatch(entries)
    expect(await guestbook.balance(rude.address, 1n)).toBe(1n)
    expect(await guestbook.balance(alice, 1n)).toBe(1n)
  })

  test('with too little gas for a guest that is a contract reverts, so that no estimate makes it seem to refuse', async () => {
    const { minter: account } = chain.accounts
    const { address } = await openReceiver(chain)
    const args = [[{ to: address, tokenId: 1n, intentId: intent('gas') }]] as const
    const short = guestbook.contract.simulate.mintBatch(args, { account, gas: 250_000n })
    expect(await refusal(short)).toEqual(['NotEnoughGas', 0n])
    const gas = await guestbook.contract.estimateGas.mintBatch(args, { account })
    const receipt = await chain.mined(guestbook.contract.write.mintBatch(args, { account, gas }))
    expect(guestbookEvents(receipt).map(([name]) => name)).toEqual(['TransferSingle'])
  })

  test('is the only one to use its inner entrance', async () => {
    const { minter: account, alice } = chain.accounts
    const entry = { to: alice, tokenId: 1n, intentId: intent('inner') }
    const refused = guestbook.contract.simulate.mintFromBatch([entry], { account })
    expect(await refusal(refused)).toEqual(['SelfOnly'])
  })
})
