import { type Address, getContract, zeroAddress } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { type Chain, type Group, signClaim, signGroup } from './chain.ts'

export const signer = privateKeyToAccount(`0x${'11'.repeat(32)}`)
export const stranger = privateKeyToAccount(`0x${'22'.repeat(32)}`)

/** Far enough that no test gets there. */
export const later = 1_000_000n

export const serviceURL = 'https://tap.example'

interface Order {
  recipient: Address
  tokenId: bigint
  blockExpiry?: bigint
  nonce?: bigint
  by?: PrivateKeyAccount
}

/** A Phygital contract that a test owns through `admin`, with `minter` as its refresher. */
export async function openPhygital(chain: Chain) {
  const { admin, minter } = chain.accounts
  const address = await chain.deploy(phygitalAbi, phygitalBytecode, [
    'Jackets',
    'JKT',
    serviceURL,
    admin,
    signer.address,
    [minter],
    zeroAddress,
    0n,
  ])
  const contract = getContract({ abi: phygitalAbi, address, client: chain.client })
  /** The arguments of mintNFT and claimNFT, signed for the nonce that counts now unless it says another. */
  const signed = async ({ recipient, tokenId, blockExpiry = later, nonce, by = signer }: Order) => {
    const claim = {
      blockExpiry,
      recipient,
      tokenId,
      contract: address,
      nonce: nonce ?? (await contract.read.claimNonces([recipient])),
    }
    return [await signClaim(by, claim), blockExpiry, recipient, tokenId] as const
  }
  /** The arguments of mintMany. */
  const group = async (
    mints: readonly (readonly [Address, bigint])[],
    { by = signer, ...other }: Partial<Group> & { by?: PrivateKeyAccount } = {},
  ) => {
    const recipients = mints.map(([recipient]) => recipient)
    const tokenIds = mints.map(([, tokenId]) => tokenId)
    const { blockExpiry = later } = other
    const told = { chainId: 31337, contract: address, blockExpiry, recipients, tokenIds, ...other }
    return [await signGroup(by, told), blockExpiry, recipients, tokenIds] as const
  }
  const account = chain.accounts.mallory
  return {
    address,
    contract,
    signed,
    group,
    /** Anyone may submit a claim; here it is always the one with no role at all. */
    mint: async (order: Order) => chain.mined(contract.write.mintNFT(await signed(order), { account })),
    claim: async (order: Order) => chain.mined(contract.write.claimNFT(await signed(order), { account })),
    owner: (tokenId: bigint) => contract.read.ownerOf([tokenId]),
  }
}
