import {
  type Address,
  getContract,
  maxUint256,
  type TransactionReceipt,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { type Chain, eventsOf, openChain, refusal, refusals } from './chain.ts'
import { openPhygital, serviceURL, signer, stranger } from './phygital.ts'

let chain: Chain
let phygital: Awaited<ReturnType<typeof openPhygital>>

beforeAll(async () => {
  chain = await openChain()
  phygital = await openPhygital(chain)
  await phygital.mint({ recipient: chain.accounts.alice, tokenId: 1n })
})
afterAll(() => chain?.close())

const phygitalEvents = (receipt: TransactionReceipt) => eventsOf(phygitalAbi, receipt)

describe('the interface', () => {
  test('has the selectors of contracts in the field', () => {
    const selectors = Object.fromEntries(
      phygitalAbi.flatMap((entry) =>
        entry.type === 'function' ? [[entry.name, toFunctionSelector(entry)]] : [],
      ),
    )
    expect(selectors).toMatchObject({
      claimNFT: '0xa6ea1025',
      mintNFT: '0x822fc7d4',
      getClaimNonce: '0xd7707903',
      getSignVerifier: '0x7b86073e',
      claimNonces: toFunctionSelector('claimNonces(address)'),
    })
  })

  test('is ERC-165, ERC-721 with metadata, ERC-4906 and ERC-2981, and tells of groups of mints', async () => {
    const supports = (id: `0x${string}`) => phygital.contract.read.supportsInterface([id])
    const groups = toFunctionSelector('mintMany(bytes,uint256,address[],uint256[])')
    for (const id of ['0x01ffc9a7', '0x80ac58cd', '0x5b5e139f', '0x49064906', '0x2a55205a', groups] as const)
      expect(await supports(id)).toBe(true)
    for (const id of ['0xffffffff', '0xd9b67a26'] as const) expect(await supports(id)).toBe(false)
  })

  test('tells name, symbol, owner and sign verifier', async () => {
    const { read } = phygital.contract
    expect(await Promise.all([read.name(), read.symbol(), read.owner(), read.getSignVerifier()])).toEqual([
      'Jackets',
      'JKT',
      chain.accounts.admin,
      signer.address,
    ])
  })
})

describe('a holder', () => {
  test('cannot transfer, not even to the address that holds the token', async () => {
    const { alice, bob } = chain.accounts
    const { simulate } = phygital.contract
    const as = { account: alice }
    for (const refused of await refusals(
      simulate.transferFrom([alice, bob, 1n], as),
      simulate.transferFrom([alice, alice, 1n], as),
      simulate.safeTransferFrom([alice, bob, 1n], as),
      simulate.safeTransferFrom([alice, bob, 1n, '0x'], as),
    )) {
      expect(refused).toEqual(['TransferBySignatureOnly'])
    }
    expect(await refusal(simulate.transferFrom([alice, zeroAddress, 1n], as))).toEqual([
      'ERC721InvalidReceiver',
      zeroAddress,
    ])
    expect(await phygital.owner(1n)).toBe(alice)
  })

  test('cannot approve, one token or all', async () => {
    const { alice, bob } = chain.accounts
    const { simulate, read } = phygital.contract
    const as = { account: alice }
    expect(await refusal(simulate.approve([bob, 1n], as))).toEqual(['ApprovalsDisabled'])
    expect(await refusal(simulate.approve([zeroAddress, 1n], as))).toEqual(['ApprovalsDisabled'])
    expect(await refusal(simulate.setApprovalForAll([bob, true], as))).toEqual(['ApprovalsDisabled'])
    expect(await refusal(simulate.setApprovalForAll([bob, false], as))).toEqual(['ApprovalsDisabled'])
    expect(await read.getApproved([1n])).toBe(zeroAddress)
    expect(await read.isApprovedForAll([alice, bob])).toBe(false)
  })

  test('has nothing where there is no token, and the zero address holds none', async () => {
    const { read } = phygital.contract
    expect(await refusal(read.ownerOf([5n]))).toEqual(['ERC721NonexistentToken', 5n])
    expect(await refusal(read.getApproved([5n]))).toEqual(['ERC721NonexistentToken', 5n])
    expect(await refusal(read.tokenURI([5n]))).toEqual(['ERC721NonexistentToken', 5n])
    expect(await refusal(read.balanceOf([zeroAddress]))).toEqual(['ERC721InvalidOwner', zeroAddress])
  })
})

describe('metadata', () => {
  test('stands at the base URI, which the contract makes of its own address, and the contract has its own', async () => {
    const baseURI = `${serviceURL}/metadata/31337/${phygital.address}/`
    expect(await phygital.contract.read.tokenURI([1n])).toBe(`${baseURI}1`)
    expect(await phygital.contract.read.contractURI()).toBe(`${baseURI}contract`)
  })

  test('is announced by the refresher and by the owner: one token, many, a range', async () => {
    const { admin, minter: refresher } = chain.accounts
    const { write } = phygital.contract
    for (const account of [admin, refresher]) {
      expect(phygitalEvents(await chain.mined(write.refreshMetadata([7n], { account })))).toEqual([
        ['MetadataUpdate', 7n],
      ])
    }
    const as = { account: refresher }
    expect(phygitalEvents(await chain.mined(write.refreshMetadataBatch([[7n, 3n]], as)))).toEqual([
      ['MetadataUpdate', 7n],
      ['MetadataUpdate', 3n],
    ])
    expect(phygitalEvents(await chain.mined(write.refreshMetadataRange([3n, 7n], as)))).toEqual([
      ['BatchMetadataUpdate', 3n, 7n],
    ])
  })

  test('is announced by nobody else', async () => {
    const { alice } = chain.accounts
    const { simulate } = phygital.contract
    const as = { account: alice }
    for (const refused of await refusals(
      simulate.refreshMetadata([1n], as),
      simulate.refreshMetadataBatch([[1n]], as),
      simulate.refreshMetadataRange([1n, 1n], as),
    )) {
      expect(refused).toEqual(['NotRefresher', alice])
    }
  })

  test('moves with the base URI, and marketplaces hear of it', async () => {
    const { admin } = chain.accounts
    const { write, read } = phygital.contract
    const receipt = await chain.mined(write.setBaseURI(['https://other.example/m/'], { account: admin }))
    expect(phygitalEvents(receipt)).toEqual([['BatchMetadataUpdate', 0n, maxUint256], ['ContractURIUpdated']])
    expect(await read.tokenURI([1n])).toBe('https://other.example/m/1')
    expect(await read.contractURI()).toBe('https://other.example/m/contract')
  })
})

describe('roles', () => {
  test('the owner alone sets the base URI, the sign verifier and the refreshers', async () => {
    const { minter: refresher, mallory } = chain.accounts
    const { simulate } = phygital.contract
    for (const account of [refresher, mallory]) {
      for (const refused of await refusals(
        simulate.setBaseURI(['https://mine.example/'], { account }),
        simulate.setSignVerifier([account], { account }),
        simulate.setRefresher([account, true], { account }),
        simulate.transferOwnership([account], { account }),
        simulate.renounceOwnership({ account }),
      )) {
        expect(refused).toEqual(['OwnableUnauthorizedAccount', account])
      }
    }
  })

  test('the owner can move no token', async () => {
    const { admin, alice } = chain.accounts
    expect(
      await refusal(phygital.contract.simulate.transferFrom([alice, admin, 1n], { account: admin })),
    ).toEqual(['TransferBySignatureOnly'])
  })

  test('a refresher comes and goes', async () => {
    const { admin, bob } = chain.accounts
    const { write, simulate } = phygital.contract
    const receipt = await chain.mined(write.setRefresher([bob, true], { account: admin }))
    expect(phygitalEvents(receipt)).toEqual([['RefresherUpdated', bob, true]])
    await simulate.refreshMetadata([1n], { account: bob })
    await chain.mined(write.setRefresher([bob, false], { account: admin }))
    expect(await refusal(simulate.refreshMetadata([1n], { account: bob }))).toEqual(['NotRefresher', bob])
  })

  test('a new sign verifier voids what the old one signed', async () => {
    const { admin, bob, mallory } = chain.accounts
    const { write, simulate, read } = phygital.contract
    const old = await phygital.signed({ recipient: bob, tokenId: 1n })
    expect(await refusal(simulate.setSignVerifier([zeroAddress], { account: admin }))).toEqual([
      'ZeroSignVerifier',
    ])
    const receipt = await chain.mined(write.setSignVerifier([stranger.address], { account: admin }))
    expect(phygitalEvents(receipt)).toEqual([['SignVerifierUpdated', signer.address, stranger.address]])
    expect(await read.getSignVerifier()).toBe(stranger.address)
    expect(await refusal(simulate.claimNFT(old, { account: mallory }))).toEqual([
      'WrongSigner',
      signer.address,
      0n,
    ])
    await phygital.claim({ recipient: bob, tokenId: 1n, by: stranger })
    expect(await phygital.owner(1n)).toBe(bob)
  })

  test('ownership moves when the new owner takes it', async () => {
    const { admin, bob, mallory } = chain.accounts
    const { write, simulate, read } = phygital.contract
    await chain.mined(write.transferOwnership([bob], { account: admin }))
    expect(await read.owner()).toBe(admin)
    expect(await read.pendingOwner()).toBe(bob)
    expect(await refusal(simulate.acceptOwnership({ account: mallory }))).toEqual([
      'OwnableUnauthorizedAccount',
      mallory,
    ])
    await chain.mined(write.acceptOwnership({ account: bob }))
    expect(await read.owner()).toBe(bob)
  })
})

describe('a deployment', () => {
  const args = (admin: Address, signVerifier: Address) =>
    ['N', 'S', '', admin, signVerifier, [], zeroAddress, 0n] as const

  test('needs an admin and a sign verifier', async () => {
    const { admin } = chain.accounts
    const refused = (...roles: Parameters<typeof args>) =>
      chain.deployRefusal(phygitalAbi, phygitalBytecode, args(...roles))
    expect(await refused(zeroAddress, signer.address)).toEqual(['OwnableInvalidOwner', zeroAddress])
    expect(await refused(admin, zeroAddress)).toEqual(['ZeroSignVerifier'])
  })

  test('may do without a refresher', async () => {
    const { admin } = chain.accounts
    const address = await chain.deploy(phygitalAbi, phygitalBytecode, args(admin, signer.address))
    const bare = getContract({ abi: phygitalAbi, address, client: chain.client })
    expect(await bare.read.isRefresher([zeroAddress])).toBe(false)
    await bare.simulate.refreshMetadata([1n], { account: admin })
  })
})
