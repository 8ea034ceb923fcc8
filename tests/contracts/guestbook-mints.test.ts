import { zeroAddress, zeroHash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Chain, openChain, refusal, refusals } from './chain.ts'
import { guestbookEvents, intent, openGuestbook, serviceURL } from './guestbook.ts'

let chain: Chain
let guestbook: Awaited<ReturnType<typeof openGuestbook>>

beforeAll(async () => {
  chain = await openChain()
  guestbook = await openGuestbook(chain)
  await guestbook.createEvent(1n)
  await guestbook.createEvent(2n)
})
afterAll(() => chain?.close())

describe('an event', () => {
  test('is created once, and its URI is announced', async () => {
    const receipt = await guestbook.createEvent(10n)
    expect(guestbookEvents(receipt)).toEqual([
      ['EventCreated', 10n],
      ['URI', `${serviceURL}/metadata/31337/${guestbook.address}/10`, 10n],
    ])
    expect(await guestbook.contract.read.eventExists([10n])).toBe(true)
    expect(await guestbook.contract.read.eventExists([11n])).toBe(false)
    const again = guestbook.contract.simulate.createEvent([10n], { account: chain.accounts.minter })
    expect(await refusal(again)).toEqual(['EventAlreadyExists', 10n])
  })
})

describe('a mint', () => {
  test('gives one token, and marks its intent', async () => {
    const { alice, minter } = chain.accounts
    expect(await guestbook.contract.read.intentDone([intent('first')])).toBe(false)
    const receipt = await guestbook.mint(alice, 1n, 'first')
    expect(guestbookEvents(receipt)).toEqual([['TransferSingle', minter, zeroAddress, alice, 1n, 1n]])
    expect(await guestbook.balance(alice, 1n)).toBe(1n)
    expect(await guestbook.contract.read.intentDone([intent('first')])).toBe(true)
  })

  test('sent again does nothing and goes through, whatever else it says', async () => {
    const { alice, bob } = chain.accounts
    for (const receipt of [
      await guestbook.mint(alice, 1n, 'first'),
      await guestbook.mint(bob, 2n, 'first'),
    ]) {
      expect(guestbookEvents(receipt)).toEqual([['IntentAlreadyDone', intent('first')]])
    }
    expect(await guestbook.balance(alice, 1n)).toBe(1n)
    expect(await guestbook.balance(bob, 2n)).toBe(0n)
  })

  test('for the same guest with another intent is another token', async () => {
    const { alice } = chain.accounts
    await guestbook.mint(alice, 1n, 'second')
    expect(await guestbook.balance(alice, 1n)).toBe(2n)
  })

  test('needs a recipient, an event and an intent id', async () => {
    const { alice, minter: account } = chain.accounts
    const { simulate } = guestbook.contract
    const id = intent('never')
    expect(
      await refusals(
        simulate.mint([zeroAddress, 1n, id], { account }),
        simulate.mint([alice, 99n, id], { account }),
        simulate.mint([alice, 1n, zeroHash], { account }),
      ),
    ).toEqual([['ZeroAddress'], ['EventUnknown', 99n], ['ZeroIntentId']])
  })
})

describe('a batch of mints', () => {
  test('gives each guest a token; intents that are done, or twice in it, count once', async () => {
    const { alice, bob, mallory } = chain.accounts
    await guestbook.mint(mallory, 2n, 'batch-0')
    const receipt = await guestbook.mintBatch([
      { to: mallory, tokenId: 2n, name: 'batch-0' },
      { to: alice, tokenId: 2n, name: 'batch-1' },
      { to: bob, tokenId: 2n, name: 'batch-2' },
      { to: bob, tokenId: 2n, name: 'batch-2' },
    ])
    expect(guestbookEvents(receipt).map(([name]) => name)).toEqual([
      'IntentAlreadyDone',
      'TransferSingle',
      'TransferSingle',
      'IntentAlreadyDone',
    ])
    for (const guest of [alice, bob, mallory]) expect(await guestbook.balance(guest, 2n)).toBe(1n)
    const again = await guestbook.mintBatch([{ to: alice, tokenId: 2n, name: 'batch-1' }])
    expect(guestbookEvents(again)).toEqual([['IntentAlreadyDone', intent('batch-1')]])
  })

  test('of nothing does nothing', async () => {
    expect(guestbookEvents(await guestbook.mintBatch([]))).toEqual([])
  })

  test('with an entry that cannot be right is refused whole', async () => {
    const { alice, minter: account } = chain.accounts
    const good = { to: alice, tokenId: 2n, intentId: intent('whole') }
    const batch = (bad: Partial<typeof good>) =>
      guestbook.contract.simulate.mintBatch([[good, { ...good, ...bad }]], { account })
    expect(
      await refusals(
        batch({ to: zeroAddress }),
        batch({ tokenId: 99n }),
        batch({ intentId: zeroHash }),
        batch({ to: guestbook.address, tokenId: 99n }),
      ),
    ).toEqual([['ZeroAddress'], ['EventUnknown', 99n], ['ZeroIntentId'], ['EventUnknown', 99n]])
  })
})
