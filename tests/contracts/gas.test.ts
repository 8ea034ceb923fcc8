import { zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  guestbookFactoryAbi,
  guestbookFactoryBytecode,
} from '../../src/daemon/chain/artifacts/guestbook-factory.ts'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { factoryDeployment } from '../../src/daemon/chain/deterministic-deployment.ts'
import { type Chain, openChain } from './chain.ts'
import { intent, openGuestbook } from './guestbook.ts'
import { openPhygital, serviceURL, signer } from './phygital.ts'

// What contracts/README.md says an operator pays, rounded up: a change that makes it dearer shows here.
let chain: Chain
const spent: Record<string, number> = {}
const note = (name: string, { gasUsed }: { gasUsed: bigint }) => {
  spent[name] = Number(gasUsed)
}

beforeAll(async () => {
  chain = await openChain()
})
afterAll(() => chain?.close())

const fresh = (index: number): `0x${string}` => `0x${(0xabcdef0000 + index).toString(16).padStart(40, '0')}`

describe('gas', () => {
  test('of a phygital contract and its claims', async () => {
    const { client, accounts } = chain
    const hash = client.deployContract({
      abi: phygitalAbi,
      bytecode: phygitalBytecode,
      args: [
        'Jackets',
        'JKT',
        serviceURL,
        accounts.admin,
        signer.address,
        [accounts.minter],
        zeroAddress,
        0n,
      ],
      account: accounts.deployer,
    })
    note('phygital deploy', await chain.mined(hash))
    const phygital = await openPhygital(chain)
    note('mintNFT', await phygital.mint({ recipient: fresh(1), tokenId: 1n }))
    note('claimNFT', await phygital.claim({ recipient: fresh(2), tokenId: 1n }))
    // Addresses have few zeros, which are cheaper.
    const full = (at: number): `0x${string}` => `0x${(at + 1).toString(16).padStart(2, '0').repeat(20)}`
    const sixty = await phygital.group(Array.from({ length: 60 }, (_, at) => [full(at), BigInt(1000 + at)]))
    note(
      'sixty mints',
      await chain.mined(phygital.contract.write.mintMany(sixty, { account: accounts.mallory })),
    )
    const royalty = phygital.contract.write.setRoyalty([accounts.bob, 250n], { account: accounts.admin })
    note('setRoyalty', await chain.mined(royalty))
    const as = { account: accounts.minter }
    note('refreshMetadata', await chain.mined(phygital.contract.write.refreshMetadata([1n], as)))
    expect(spent['phygital deploy']).toBeLessThan(2_600_000)
    expect(spent.mintNFT).toBeLessThan(110_000)
    expect(spent.claimNFT).toBeLessThan(90_000)
    // At 50 a transaction, a thousand mints take 20, each less than a tenth of a block of 30,000,000.
    expect(spent['sixty mints']).toBeLessThan(60 * 52_000)
    expect(spent.setRoyalty).toBeLessThan(55_000)
    expect(spent.refreshMetadata).toBeLessThan(26_000)
  })

  test('of a guestbook, its events and its mints', async () => {
    const guestbook = await openGuestbook(chain)
    const { admin, minter } = chain.accounts
    const factory = { abi: guestbookFactoryAbi, bytecode: guestbookFactoryBytecode, account: minter } as const
    note('factory deploy', await chain.mined(chain.client.deployContract(factory)))
    const placed = { data: factoryDeployment().data, gas: 4_500_000n, account: minter }
    note('factory placed', await chain.mined(chain.client.sendTransaction(placed)))
    note('guestbook clone', guestbook.receipt)
    note('event', await guestbook.createEvent(1n))
    note('mint', await guestbook.mint(fresh(3), 1n, 'm1'))
    note('mint again', await guestbook.mint(fresh(3), 1n, 'm1'))
    const twenty = Array.from({ length: 20 }, (_, i) => ({
      to: fresh(10 + i),
      tokenId: 1n,
      intentId: intent(`b${i}`),
    }))
    note('twenty mints', await chain.mined(guestbook.contract.write.mintBatch([twenty], { account: minter })))
    note('pause', await chain.mined(guestbook.contract.write.setPaused([true], { account: admin })))
    expect(spent['factory deploy']).toBeLessThan(2_700_000)
    expect(spent['factory placed']).toBeLessThan(2_770_000)
    expect(spent['guestbook clone']).toBeLessThan(205_000)
    expect(spent.event).toBeLessThan(80_000)
    expect(spent.mint).toBeLessThan(85_000)
    expect(spent['mint again']).toBeLessThan(35_000)
    expect(spent['twenty mints']).toBeLessThan(1_120_000)
    expect(spent.pause).toBeLessThan(53_000)
  })
})
