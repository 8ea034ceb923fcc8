import { concat, encodeDeployData, getContractAddress, type Hex, keccak256, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { placementAbi, placementBytecode } from '../../src/daemon/chain/artifacts/placement.ts'
import {
  deployByCreate2,
  futureAddress,
  guessableSalt,
} from '../../src/daemon/domain/contracts/contract-address.ts'
import { type Chain, openChain } from './chain.ts'
import { signer } from './phygital.ts'

let chain: Chain

beforeAll(async () => {
  chain = await openChain()
})
afterAll(() => chain?.close())

const at = (symbol: string) => ({ chainId: 31337, team: 'Acme', symbol })
const creation = (signVerifier = signer.address as Hex) =>
  encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: ['Jackets', 'JKT', '', chain.accounts.admin, signVerifier, [], zeroAddress, 0n],
  })
const factory = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const proxyCode = '0x67363d3d37363d34f03d5260086018f3'
const placed = (symbol: string, code: Hex) => {
  const data = encodeDeployData({
    abi: placementAbi,
    bytecode: placementBytecode,
    args: [guessableSalt(at(symbol)), code],
  })
  return chain.mined(chain.client.sendTransaction({ data, account: chain.accounts.deployer }))
}
const refused = (symbol: string, code: Hex) =>
  chain.deployRefusal(placementAbi, placementBytecode, [guessableSalt(at(symbol)), code])
const ownerAt = (address: Hex) =>
  chain.client.readContract({ abi: phygitalAbi, address, functionName: 'owner' })

describe('a contract placed in one transaction', () => {
  test('stands at the address that was shown before it existed, and nothing else stays', async () => {
    const address = futureAddress(at('JKT'))
    const receipt = await placed('JKT', creation())
    expect(await ownerAt(address)).toBe(chain.accounts.admin)
    const left = await chain.client.getCode({ address: receipt.contractAddress ?? zeroAddress })
    expect(left).toBeUndefined()
  })

  test('once, is left as it is by a second placement', async () => {
    const other = creation('0x00000000000000000000000000000000000000aa')
    await placed('JKT', other)
    const address = futureAddress(at('JKT'))
    expect(
      await chain.client.readContract({ abi: phygitalAbi, address, functionName: 'getSignVerifier' }),
    ).toBe(signer.address)
  })

  test('whose constructor refuses leaves the address free for another try', async () => {
    const address = futureAddress(at('TRY'))
    expect(await refused('TRY', creation(zeroAddress))).toEqual(['NotPlaced', address])
    await expect(placed('TRY', creation(zeroAddress))).rejects.toThrow('reverted')
    await placed('TRY', creation())
    expect(await ownerAt(address)).toBe(chain.accounts.admin)
  })

  describe('through a proxy that somebody else made', () => {
    const send = (to: Hex, data: Hex) =>
      chain.mined(
        chain.client.sendTransaction({ to, data, account: chain.accounts.mallory, gas: 1_000_000n }),
      )
    const makeProxy = (symbol: string) => send(factory, concat([guessableSalt(at(symbol)), proxyCode]))

    test('stands where it belongs', async () => {
      await makeProxy('PRX')
      await placed('PRX', creation())
      expect(await ownerAt(futureAddress(at('PRX')))).toBe(chain.accounts.admin)
    })

    test('and burned is refused', async () => {
      await makeProxy('BRN')
      const salt = guessableSalt(at('BRN'))
      const bytecodeHash = keccak256(proxyCode)
      const proxy = getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecodeHash })
      await send(proxy, '0xfe')
      expect(await refused('BRN', creation())).toEqual(['NotPlaced', futureAddress(at('BRN'))])
    })
  })

  test('is refused on a chain without the deployment proxy', async () => {
    const code = (await chain.client.getCode({ address: factory })) ?? '0x'
    await chain.client.setCode({ address: factory, bytecode: '0x' })
    expect(await refused('NOF', creation())).toEqual(['NoFactory'])
    await chain.client.setCode({ address: factory, bytecode: code })
  })
})

describe('a contract placed where nothing else can be', () => {
  const salt = guessableSalt(at('BND'))
  const place = (code: Hex) => {
    const { call, address } = deployByCreate2(salt, code)
    if (!('data' in call)) throw new Error('it is fixed')
    const { data } = call
    const send = (account: Hex) =>
      chain.mined(chain.client.sendTransaction({ data, account, gas: 4_000_000n }))
    return { address, send }
  }

  test('stands at the address that was shown, whoever is first, and a second time nothing happens', async () => {
    const { address, send } = place(creation())
    const first = await send(chain.accounts.mallory)
    expect(await ownerAt(address)).toBe(chain.accounts.admin)
    expect(first.gasUsed).toBeLessThan(2_500_000n)
    const second = await send(chain.accounts.deployer)
    expect(second.gasUsed).toBeLessThan(first.gasUsed / 3n)
    const left = await chain.client.getCode({ address: second.contractAddress ?? zeroAddress })
    expect(left).toBeUndefined()
  })

  test('is elsewhere with other arguments, and nowhere where its constructor refuses', async () => {
    expect(place(creation('0x00000000000000000000000000000000000000aa')).address).not.toBe(
      place(creation()).address,
    )
    await expect(place(creation(zeroAddress)).send(chain.accounts.deployer)).rejects.toThrow('reverted')
  })
})
