import { encodeFunctionData, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { type Chain, openChain, refusal, refusals } from './chain.ts'
import { guestbookEvents, intent, openGuestbook, serviceURL } from './guestbook.ts'
import { openReceiver } from './receiver.ts'

let chain: Chain
let guestbook: Awaited<ReturnType<typeof openGuestbook>>

beforeAll(async () => {
  chain = await openChain()
  guestbook = await openGuestbook(chain)
  await guestbook.createEvent(1n)
})
afterAll(() => chain?.close())

const setPaused = (paused: boolean) =>
  chain.mined(guestbook.contract.write.setPaused([paused], { account: chain.accounts.admin }))

describe('the interface', () => {
  test('is ERC-165 and ERC-1155 with metadata', async () => {
    const ids = ['0x01ffc9a7', '0xd9b67a26', '0x0e89341c', '0xffffffff', '0x80ac58cd'] as const
    const supported = ids.map((id) => guestbook.contract.read.supportsInterface([id]))
    expect(await Promise.all(supported)).toEqual([true, true, true, false, false])
  })

  test('tells name, symbol, owner, and where metadata is', async () => {
    const { read } = guestbook.contract
    const place = `${serviceURL}/metadata/31337/${guestbook.address}/`
    expect(
      await Promise.all([read.name(), read.symbol(), read.owner(), read.uri([1n]), read.contractURI()]),
    ).toEqual(['Guests', 'GB', chain.accounts.admin, `${place}1`, `${place}contract`])
  })
})

describe('while transfers are paused', () => {
  test('tokens do not move between holders, by themselves, by an operator or in a batch', async () => {
    const { alice, bob, mallory } = chain.accounts
    const { simulate, write } = guestbook.contract
    await guestbook.mint(alice, 1n, 'held')
    await chain.mined(write.setApprovalForAll([mallory, true], { account: alice }))
    await setPaused(true)
    expect(
      await refusals(
        simulate.safeTransferFrom([alice, bob, 1n, 1n, '0x'], { account: alice }),
        simulate.safeTransferFrom([alice, bob, 1n, 1n, '0x'], { account: mallory }),
        simulate.safeBatchTransferFrom([alice, bob, [1n], [1n], '0x'], { account: alice }),
        simulate.safeTransferFrom([alice, alice, 1n, 1n, '0x'], { account: alice }),
      ),
    ).toEqual(Array(4).fill(['TransfersPaused']))
  })

  test('events are created and tokens minted, one or many', async () => {
    const { alice, bob } = chain.accounts
    await guestbook.createEvent(2n)
    await guestbook.mint(bob, 2n, 'paused-1')
    await guestbook.mintBatch([{ to: alice, tokenId: 2n, name: 'paused-2' }])
    expect(await guestbook.balance(bob, 2n)).toBe(1n)
    expect(await guestbook.balance(alice, 2n)).toBe(1n)
  })

  test('a holder may burn what it does not want', async () => {
    const { bob } = chain.accounts
    await chain.mined(guestbook.contract.write.burn([bob, 2n, 1n], { account: bob }))
    expect(await guestbook.balance(bob, 2n)).toBe(0n)
  })

  test('a contract that holds a token cannot move it either', async () => {
    const { bob } = chain.accounts
    const receiver = await openReceiver(chain)
    await guestbook.mint(receiver.address, 2n, 'paused-3')
    const args = [receiver.address, bob, 2n, 1n, '0x'] as const
    const data = encodeFunctionData({ abi: guestbookAbi, functionName: 'safeTransferFrom', args })
    await expect(receiver.act(guestbook.address, data)).rejects.toThrow()
    expect(await guestbook.balance(receiver.address, 2n)).toBe(1n)
  })
})

describe('the pause', () => {
  test('tells that it began and ended; setting it again does no harm', async () => {
    const { admin } = chain.accounts
    expect(guestbookEvents(await setPaused(true))).toEqual([['Paused', admin]])
    expect(await guestbook.contract.read.paused()).toBe(true)
    expect(guestbookEvents(await setPaused(false))).toEqual([['Unpaused', admin]])
    expect(guestbookEvents(await setPaused(false))).toEqual([['Unpaused', admin]])
    expect(await guestbook.contract.read.paused()).toBe(false)
  })

  test('over, tokens move between holders', async () => {
    const { alice, bob } = chain.accounts
    const { write } = guestbook.contract
    await chain.mined(write.safeTransferFrom([alice, bob, 1n, 1n, '0x'], { account: alice }))
    expect(await guestbook.balance(bob, 1n)).toBe(1n)
  })
})

describe('a holder', () => {
  test('moves and burns only its own, or what it was given leave for', async () => {
    const { alice, bob, minter } = chain.accounts
    const { simulate } = guestbook.contract
    expect(
      await refusals(
        simulate.safeTransferFrom([bob, alice, 1n, 1n, '0x'], { account: alice }),
        simulate.burn([bob, 1n, 1n], { account: minter }),
        simulate.burnBatch([bob, [1n], [1n]], { account: minter }),
      ),
    ).toEqual([
      ['ERC1155MissingApprovalForAll', alice, bob],
      ['ERC1155MissingApprovalForAll', minter, bob],
      ['ERC1155MissingApprovalForAll', minter, bob],
    ])
  })

  test('moves no more than it has, to somebody, in lists of one length', async () => {
    const { alice, bob } = chain.accounts
    const { simulate, read } = guestbook.contract
    const as = { account: bob }
    expect(
      await refusals(
        simulate.safeTransferFrom([bob, alice, 1n, 5n, '0x'], as),
        simulate.burn([bob, 1n, 5n], as),
        simulate.safeTransferFrom([bob, zeroAddress, 1n, 1n, '0x'], as),
        simulate.safeBatchTransferFrom([bob, alice, [1n], [1n, 1n], '0x'], as),
        read.balanceOfBatch([[bob], [1n, 2n]]),
        simulate.setApprovalForAll([zeroAddress, true], as),
      ),
    ).toEqual([
      ['ERC1155InsufficientBalance', bob, 1n, 5n, 1n],
      ['ERC1155InsufficientBalance', bob, 1n, 5n, 1n],
      ['ERC1155InvalidReceiver', zeroAddress],
      ['ERC1155InvalidArrayLength', 1n, 2n],
      ['ERC1155InvalidArrayLength', 2n, 1n],
      ['ERC1155InvalidOperator', zeroAddress],
    ])
  })
})

describe('metadata', () => {
  test('is announced event by event', async () => {
    const { minter: account } = chain.accounts
    const place = `${serviceURL}/metadata/31337/${guestbook.address}/`
    const receipt = await chain.mined(guestbook.contract.write.refreshMetadata([[2n, 1n]], { account }))
    expect(guestbookEvents(receipt)).toEqual([
      ['URI', `${place}2`, 2n],
      ['URI', `${place}1`, 1n],
    ])
    expect(await refusal(guestbook.contract.simulate.refreshMetadata([[99n]], { account }))).toEqual([
      'EventUnknown',
      99n,
    ])
  })

  test('moves with the URL, and every event named tells so', async () => {
    const { admin: account } = chain.accounts
    const { write, simulate, read } = guestbook.contract
    const moved = `https://other.example/metadata/31337/${guestbook.address}/`
    const receipt = await chain.mined(write.setServiceURL(['https://other.example', [1n, 2n]], { account }))
    expect(guestbookEvents(receipt)).toEqual([
      ['ContractURIUpdated'],
      ['URI', `${moved}1`, 1n],
      ['URI', `${moved}2`, 2n],
    ])
    expect(await read.uri([1n])).toBe(`${moved}1`)
    expect(await refusal(simulate.setServiceURL(['', [99n]], { account }))).toEqual(['EventUnknown', 99n])
  })
})

describe('roles', () => {
  test('minters alone create events, mint and announce metadata: the owner does not', async () => {
    const { admin, mallory } = chain.accounts
    const { simulate } = guestbook.contract
    for (const account of [admin, mallory]) {
      expect(
        await refusals(
          simulate.createEvent([5n], { account }),
          simulate.mint([account, 1n, intent('mine')], { account }),
          simulate.mintBatch([[{ to: account, tokenId: 1n, intentId: intent('mine') }]], { account }),
          simulate.refreshMetadata([[1n]], { account }),
        ),
      ).toEqual(Array(4).fill(['NotMinter', account]))
    }
  })

  test('the owner alone pauses, moves metadata and names minters: a minter does not', async () => {
    const { minter, mallory } = chain.accounts
    const { simulate } = guestbook.contract
    for (const account of [minter, mallory]) {
      expect(
        await refusals(
          simulate.setPaused([true], { account }),
          simulate.setServiceURL(['', []], { account }),
          simulate.setMinter([account, true], { account }),
          simulate.transferOwnership([account], { account }),
          simulate.renounceOwnership({ account }),
        ),
      ).toEqual(Array(5).fill(['OwnableUnauthorizedAccount', account]))
    }
  })

  test('a minter comes and goes', async () => {
    const { admin, bob } = chain.accounts
    const { write, simulate } = guestbook.contract
    const receipt = await chain.mined(write.setMinter([bob, true], { account: admin }))
    expect(guestbookEvents(receipt)).toEqual([['MinterUpdated', bob, true]])
    await simulate.mint([bob, 1n, intent('new')], { account: bob })
    await chain.mined(write.setMinter([bob, false], { account: admin }))
    const refused = simulate.mint([bob, 1n, intent('new')], { account: bob })
    expect(await refusal(refused)).toEqual(['NotMinter', bob])
  })

  test('ownership moves when the new owner takes it', async () => {
    const { admin, bob, mallory } = chain.accounts
    const { write, simulate, read } = guestbook.contract
    await chain.mined(write.transferOwnership([bob], { account: admin }))
    expect(await read.owner()).toBe(admin)
    expect(await refusal(simulate.acceptOwnership({ account: mallory }))).toEqual([
      'OwnableUnauthorizedAccount',
      mallory,
    ])
    await chain.mined(write.acceptOwnership({ account: bob }))
    expect(await read.owner()).toBe(bob)
  })
})
