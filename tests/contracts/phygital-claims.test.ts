import { encodeFunctionData, type Hex, parseEventLogs, parseSignature, serializeSignature } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { minedReceipt } from '../support/receipt.ts'
import { type Chain, claimHash, openChain, refusal, signClaim } from './chain.ts'
import { later, openPhygital, signer, stranger } from './phygital.ts'

let chain: Chain
let phygital: Awaited<ReturnType<typeof openPhygital>>

beforeAll(async () => {
  chain = await openChain()
  phygital = await openPhygital(chain)
})
afterAll(() => chain?.close())

const simulateMint = async (order: Parameters<typeof phygital.signed>[0]) =>
  phygital.contract.simulate.mintNFT(await phygital.signed(order), { account: chain.accounts.mallory })
const simulateClaim = async (order: Parameters<typeof phygital.signed>[0]) =>
  phygital.contract.simulate.claimNFT(await phygital.signed(order), { account: chain.accounts.mallory })

const vector = {
  blockExpiry: 123n,
  recipient: '0x1111111111111111111111111111111111111111',
  tokenId: 7n,
  contract: '0x2222222222222222222222222222222222222222',
  nonce: 0n,
} as const
const vectorHash = '0xdb88113b42125a381666d7b8afd387f7c089f8e3f4656a3ff26ca2b0dbc16e73'
const vectorSignature =
  '0x5b191bbe6f03bd5b40956900c4833a08d24cb6d2a1c665c11adb6320cf0670be5eeaa200b889f9e7618d6c60f59a987f1477d0ee96fd69c39abc9adbf49bd1271b'

describe('a signature as contracts in the field take it', () => {
  test('hashes and signs as the vector says', async () => {
    expect(signer.address).toBe('0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A')
    expect(claimHash(vector)).toBe(vectorHash)
    expect(await signClaim(signer, vector)).toBe(vectorSignature)
  })

  test('mints at the address of the vector', async () => {
    const { client } = chain
    const code = await client.getCode({ address: phygital.address })
    await client.setCode({ address: vector.contract, bytecode: code ?? '0x' })
    for (let slot = 0; slot < 16; slot++) {
      const index: Hex = `0x${slot.toString(16)}`
      const value = await client.getStorageAt({ address: phygital.address, slot: index })
      await client.setStorageAt({
        address: vector.contract,
        index: slot,
        value: value ?? `0x${'00'.repeat(32)}`,
      })
    }
    const there = { abi: phygitalAbi, address: vector.contract } as const
    await chain.mined(
      client.writeContract({
        ...there,
        functionName: 'mintNFT',
        args: [vectorSignature, vector.blockExpiry, vector.recipient, vector.tokenId],
        account: chain.accounts.mallory,
      }),
    )
    expect(await client.readContract({ ...there, functionName: 'ownerOf', args: [vector.tokenId] })).toBe(
      vector.recipient,
    )
  })
})

describe('a claim', () => {
  test('mints a token that nobody has, whoever submits it, and raises the nonce', async () => {
    const { alice } = chain.accounts
    const receipt = await phygital.mint({ recipient: alice, tokenId: 1n })
    expect(await phygital.owner(1n)).toBe(alice)
    expect(await phygital.contract.read.claimNonces([alice])).toBe(1n)
    expect(await phygital.contract.read.getClaimNonce([alice])).toBe(1n)
    expect(
      parseEventLogs({ abi: phygitalAbi, logs: receipt.logs }).map(({ eventName }) => eventName),
    ).toEqual(['Transfer'])
  })

  test('moves a token without its owner, and raises the nonce of the recipient alone', async () => {
    const { alice, bob } = chain.accounts
    await phygital.mint({ recipient: alice, tokenId: 2n })
    const before = await phygital.contract.read.claimNonces([alice])
    await phygital.claim({ recipient: bob, tokenId: 2n })
    expect(await phygital.owner(2n)).toBe(bob)
    expect(await phygital.contract.read.claimNonces([bob])).toBe(1n)
    expect(await phygital.contract.read.claimNonces([alice])).toBe(before)
  })

  test('to whom owns the token already leaves it there', async () => {
    const { bob } = chain.accounts
    await phygital.claim({ recipient: bob, tokenId: 2n })
    expect(await phygital.owner(2n)).toBe(bob)
  })

  test('cannot mint twice, nor move what is not minted', async () => {
    const { alice, bob } = chain.accounts
    expect(await refusal(simulateMint({ recipient: bob, tokenId: 1n }))).toEqual(['AlreadyMinted', 1n])
    expect(await refusal(simulateClaim({ recipient: alice, tokenId: 99n }))).toEqual([
      'ERC721NonexistentToken',
      99n,
    ])
  })

  test('to the zero address is refused', async () => {
    const recipient = '0x0000000000000000000000000000000000000000'
    const expected = ['ERC721InvalidReceiver', recipient]
    expect(await refusal(simulateMint({ recipient, tokenId: 98n }))).toEqual(expected)
    expect(await refusal(simulateClaim({ recipient, tokenId: 1n }))).toEqual(expected)
  })

  test('by another signer, or for another token, recipient or expiry, is refused', async () => {
    const { alice, bob, mallory: account } = chain.accounts
    const nonce = await phygital.contract.read.claimNonces([bob])
    expect(await refusal(simulateMint({ recipient: bob, tokenId: 3n, by: stranger }))).toEqual([
      'WrongSigner',
      stranger.address,
      nonce,
    ])
    const [sig] = await phygital.signed({ recipient: bob, tokenId: 3n })
    for (const args of [
      [sig, later, bob, 4n],
      [sig, later, alice, 3n],
      [sig, later + 1n, bob, 3n],
    ] as const) {
      const [name] = await refusal(phygital.contract.simulate.mintNFT(args, { account }))
      expect(name).toBe('WrongSigner')
    }
  })

  test('works once: the same signature again is refused, and the error names the nonce that counts now', async () => {
    const { alice, bob, mallory: account } = chain.accounts
    const order = { recipient: alice, tokenId: 2n }
    const args = await phygital.signed(order)
    const nonce = await phygital.contract.read.claimNonces([alice])
    await chain.mined(phygital.contract.write.claimNFT(args, { account }))
    await phygital.claim({ recipient: bob, tokenId: 2n })
    const [name, , counts] = await refusal(phygital.contract.simulate.claimNFT(args, { account }))
    expect([name, counts]).toEqual(['WrongSigner', nonce + 1n])
    expect(await phygital.owner(2n)).toBe(bob)
  })

  test('dies with the first of two that were signed for the same nonce', async () => {
    const { alice, mallory: account } = chain.accounts
    const [first, second] = await Promise.all([
      phygital.signed({ recipient: alice, tokenId: 20n }),
      phygital.signed({ recipient: alice, tokenId: 21n }),
    ])
    await chain.mined(phygital.contract.write.mintNFT(first, { account }))
    const [name] = await refusal(phygital.contract.simulate.mintNFT(second, { account }))
    expect(name).toBe('WrongSigner')
  })

  test('signed for a nonce to come waits for it', async () => {
    const { alice, mallory: account } = chain.accounts
    const nonce = await phygital.contract.read.claimNonces([alice])
    const ahead = await phygital.signed({ recipient: alice, tokenId: 31n, nonce: nonce + 1n })
    const [name, , counts] = await refusal(phygital.contract.simulate.mintNFT(ahead, { account }))
    expect([name, counts]).toEqual(['WrongSigner', nonce])
    await phygital.mint({ recipient: alice, tokenId: 30n })
    await chain.mined(phygital.contract.write.mintNFT(ahead, { account }))
    expect(await phygital.owner(31n)).toBe(alice)
  })
})

describe('the form of a signature', () => {
  const forms = async () => {
    const { bob: recipient, mallory: account } = chain.accounts
    const [sig] = await phygital.signed({ recipient, tokenId: 40n })
    const mint = (changed: Hex) =>
      refusal(phygital.contract.simulate.mintNFT([changed, later, recipient, 40n], { account }))
    return { sig, mint }
  }

  test('has one value of s: its mirror image is refused', async () => {
    const { sig, mint } = await forms()
    const { r, s, yParity } = parseSignature(sig)
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const mirrored: Hex = `0x${(order - BigInt(s)).toString(16).padStart(64, '0')}`
    const [name] = await mint(serializeSignature({ r, s: mirrored, yParity: yParity === 0 ? 1 : 0 }))
    expect(name).toBe('ECDSAInvalidSignatureS')
  })

  test('has 65 bytes: shorter, longer and empty ones are refused', async () => {
    const { sig, mint } = await forms()
    expect(await mint(`0x${sig.slice(2, 130)}`)).toEqual(['ECDSAInvalidSignatureLength', 64n])
    expect(await mint(`${sig}00`)).toEqual(['ECDSAInvalidSignatureLength', 66n])
    expect(await mint('0x')).toEqual(['ECDSAInvalidSignatureLength', 0n])
  })

  test('has a v of 27 or 28', async () => {
    const { sig, mint } = await forms()
    expect(await mint(`0x${sig.slice(2, 130)}00`)).toEqual(['ECDSAInvalidSignature'])
  })
})

describe('the expiry', () => {
  test('is the first block in which a signature no longer works', async () => {
    const { bob: recipient, mallory: account } = chain.accounts
    const { client } = chain
    const send = async (blocksAhead: bigint, tokenId: bigint) => {
      const next = (await client.getBlockNumber({ cacheTime: 0 })) + 1n
      const args = await phygital.signed({ recipient, tokenId, blockExpiry: next + blocksAhead })
      // With its own gas limit it is mined without a trial run.
      const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'mintNFT', args })
      const hash = await client.sendTransaction({ to: phygital.address, data, account, gas: 300_000n })
      const receipt = await minedReceipt(client, hash)
      expect(receipt.blockNumber).toBe(next)
      return receipt.status
    }
    expect(await send(0n, 50n)).toBe('reverted')
    expect(await send(1n, 51n)).toBe('success')
    expect(await phygital.owner(51n)).toBe(recipient)
  })

  test('that has passed is named, with the block it is now', async () => {
    const { bob: recipient } = chain.accounts
    const now = await chain.client.getBlockNumber({ cacheTime: 0 })
    const [name, expiry] = await refusal(simulateMint({ recipient, tokenId: 52n, blockExpiry: now }))
    expect([name, expiry]).toEqual(['ClaimExpired', now])
  })
})
