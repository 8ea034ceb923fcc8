import { getContract, toFunctionSelector, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { guestbookFactoryAbi } from '../../src/daemon/chain/artifacts/guestbook-factory.ts'
import { type Chain, eventsOf, openChain, refusal } from './chain.ts'
import { intent, openFactory } from './guestbook.ts'

let chain: Chain
let factory: Awaited<ReturnType<typeof openFactory>>

beforeAll(async () => {
  chain = await openChain()
  factory = await openFactory(chain)
})
afterAll(() => chain?.close())

const guestbookAt = (address: `0x${string}`) =>
  getContract({ abi: guestbookAbi, address, client: chain.client })
const deploy = (deployment: typeof factory.deployment, account = chain.accounts.deployer) =>
  chain.mined(factory.contract.write.deploy([deployment], { account }))

describe('a deployment', () => {
  test('puts a 45-byte clone where it was foretold, with its values', async () => {
    const { admin, minter } = chain.accounts
    const foretold = await factory.contract.read.addressOf([factory.deployment])
    const receipt = await deploy(factory.deployment)
    expect(eventsOf(guestbookFactoryAbi, receipt)).toEqual([
      ['GuestbookDeployed', foretold, factory.deployment.salt, admin],
    ])
    const code = (await chain.client.getCode({ address: foretold })) ?? '0x'
    expect(code.length).toBe(2 + 2 * 45)
    expect(code).toContain((await factory.contract.read.implementation()).slice(2).toLowerCase())
    const { read } = guestbookAt(foretold)
    expect(
      await Promise.all([
        read.name(),
        read.symbol(),
        read.owner(),
        read.isMinter([minter]),
        read.isMinter([admin]),
      ]),
    ).toEqual(['Guests', 'GB', admin, true, false])
  })

  test('repeated, by whomever, finds the guestbook that is there and changes nothing', async () => {
    const { admin, minter, mallory } = chain.accounts
    const address = await factory.contract.read.addressOf([factory.deployment])
    const guestbook = guestbookAt(address)
    await chain.mined(guestbook.write.createEvent([1n], { account: minter }))
    await chain.mined(guestbook.write.mint([mallory, 1n, intent('kept')], { account: minter }))
    const repeat = await factory.contract.simulate.deploy([factory.deployment], { account: mallory })
    expect(repeat.result).toBe(address)
    expect((await deploy(factory.deployment, mallory)).logs).toEqual([])
    expect(await guestbook.read.owner()).toBe(admin)
    expect(await guestbook.read.balanceOf([mallory, 1n])).toBe(1n)
  })

  test('with another value is another guestbook, so nobody can take an address first', async () => {
    const { mallory } = chain.accounts
    const { contract, deployment } = factory
    const variants = [
      deployment,
      { ...deployment, salt: intent('other') },
      { ...deployment, name: 'Others' },
      { ...deployment, symbol: 'OT' },
      { ...deployment, serviceURL: 'https://mine.example' },
      { ...deployment, admin: mallory },
      { ...deployment, minter: mallory },
    ]
    const addresses = await Promise.all(variants.map((variant) => contract.read.addressOf([variant])))
    expect(new Set(addresses).size).toBe(variants.length)
  })

  test('keeps guestbooks apart', async () => {
    const { minter } = chain.accounts
    const other = { ...factory.deployment, salt: intent('apart') }
    await deploy(other)
    const { read } = guestbookAt(await factory.contract.read.addressOf([other]))
    expect(await read.eventExists([1n])).toBe(false)
    expect(await read.intentDone([intent('kept')])).toBe(false)
    expect(await read.isMinter([minter])).toBe(true)
  })

  test('needs an admin and a minter', async () => {
    const { contract, deployment } = factory
    const account = chain.accounts.deployer
    for (const bad of [{ admin: zeroAddress }, { minter: zeroAddress }]) {
      const { salt: _, ...values } = { ...deployment, ...bad }
      const refused = contract.simulate.deploy([{ ...values, salt: intent('bad') }], { account })
      await expect(refusal(refused)).rejects.toThrow(toFunctionSelector('ZeroAddress()'))
    }
  })
})

describe('initialising', () => {
  test('a guestbook again is refused', async () => {
    const { mallory } = chain.accounts
    const guestbook = guestbookAt(await factory.contract.read.addressOf([factory.deployment]))
    const again = guestbook.simulate.initialize(['Mine', 'M', '', mallory, mallory], { account: mallory })
    expect(await refusal(again)).toEqual(['FactoryOnly'])
  })

  test('the implementation is refused: it is nobody’s guestbook', async () => {
    const { mallory } = chain.accounts
    const implementation = guestbookAt(await factory.contract.read.implementation())
    const taken = implementation.simulate.initialize(['Mine', 'M', '', mallory, mallory], {
      account: mallory,
    })
    expect(await refusal(taken)).toEqual(['FactoryOnly'])
    expect(await implementation.read.owner()).toBe(factory.address)
  })
})
