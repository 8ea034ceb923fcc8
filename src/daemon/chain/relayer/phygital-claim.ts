import {
  type Address,
  decodeErrorResult,
  decodeFunctionData,
  encodeFunctionData,
  encodePacked,
  getAddress,
  type Hex,
  isAddress,
  keccak256,
} from 'viem'
import * as z from 'zod'
import { phygitalAbi } from '../artifacts/phygital.ts'
import { ownerOf } from '../contract-state.ts'
import type { BuildContext, Builder, Reverted } from './builder.ts'
import { CannotBuild } from './errors.ts'

/** How intents name the builder below. */
export const claimBuilder = 'phygital-claim'

/** The key that signs claims of one chain. It never sends anything. */
export interface SignVerifier {
  readonly address: Address
  /** EIP-191 over the bytes. */
  signMessage(message: { raw: Hex }): Promise<Hex>
}

const address = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), 'must be an address')
  .transform((text) => getAddress(text))
const claimArgs = z.object({
  contract: address,
  recipient: address,
  tokenId: z.string().regex(/^\d+$/),
  /** mintNFT where nobody has the token yet. */
  call: z.enum(['claimNFT', 'mintNFT']),
})
export type ClaimArgs = z.infer<typeof claimArgs>

export interface Claim {
  blockExpiry: bigint
  recipient: Address
  tokenId: bigint
  contract: Address
  nonce: bigint
}

/** What a sign verifier signs, as contracts in the field check it: the chain id is not in it. */
export const claimHash = ({ blockExpiry, recipient, tokenId, contract, nonce }: Claim): Hex =>
  keccak256(
    encodePacked(
      ['uint256', 'address', 'uint256', 'address', 'uint256'],
      [blockExpiry, recipient, tokenId, contract, nonce],
    ),
  )

/** Names a recipient's claim nonce among what is under way. */
export const claimCounter = (contract: Address, recipient: Address): string =>
  `claim:${contract}:${recipient}`.toLowerCase()

const mostForOneWhoPasses = 3

/** A mint to a new holder takes 102,000 and a contract that receives may do some work of its own. */
export const claimGas = 200_000

export interface PhygitalClaimOptions {
  /** @throws where the chain has none */
  signVerifier(chainId: number): SignVerifier
  /** How many blocks a signature stays good. */
  expiryBlocks(chainId: number): number | Promise<number>
}

/**
 * Signs a claim when its transaction is signed: its nonce on the contract is the recipient's, moved on by what is
 * under way to the same recipient, so that any number of transfers to one address can be under way together.
 */
export const phygitalClaim = ({ signVerifier, expiryBlocks }: PhygitalClaimOptions): Builder => ({
  async build(args, ctx) {
    const { contract, recipient, tokenId, ...intended } = parse(args)
    // Whether somebody has the token may have changed since the intent was recorded.
    const call = ctx.signings === 0 ? intended.call : await callFor(ctx.client, contract, BigInt(tokenId))
    const nonce = await ctx.next(claimCounter(contract, recipient), () =>
      claimNonce(ctx.client, contract, recipient),
    )
    const blockExpiry = BigInt(ctx.blockNumber + (await expiryBlocks(ctx.chainId)))
    const claim = { blockExpiry, recipient, tokenId: BigInt(tokenId), contract, nonce }
    const sig = await signVerifier(ctx.chainId).signMessage({ raw: claimHash(claim) })
    const data = encodeFunctionData({
      abi: phygitalAbi,
      functionName: call,
      args: [sig, blockExpiry, recipient, claim.tokenId],
    })
    return { to: contract, data, gas: claimGas }
  },

  async afterRevert(args, reverted) {
    const { contract, recipient, tokenId } = parse(args)
    // A recipient with code of its own can let a trial run through and not the real one, as often as it likes.
    if (reverted.rerun.passes && reverted.signings >= mostForOneWhoPasses) return 'give up'
    const stale =
      isExpired(reverted) ||
      (await isOtherCall(reverted, contract, BigInt(tokenId))) ||
      (await isStaleNonce(reverted, contract, recipient))
    return stale ? 'sign anew' : 'give up'
  },

  async doneBy({ to, data, untilBlock, client }) {
    const [sig, blockExpiry, recipient, tokenId] = decodeFunctionData({ abi: phygitalAbi, data }).args ?? []
    if (to === null || typeof sig !== 'string' || typeof blockExpiry !== 'bigint') return undefined
    // It was signed when its expiry was this far away; the margin may have been another then.
    const margin = BigInt(4 * (await expiryBlocks(await client.getChainId())))
    const logs = await client.getContractEvents({
      abi: phygitalAbi,
      address: to,
      eventName: 'Transfer',
      args: { to: getAddress(String(recipient)), tokenId: BigInt(String(tokenId)) },
      fromBlock: blockExpiry > margin ? blockExpiry - margin : 0n,
      toBlock: BigInt(untilBlock),
    })
    for (const { transactionHash } of logs) {
      const { input } = await client.getTransaction({ hash: transactionHash })
      // The signature is good for this one move alone, so whoever brought it did what was meant.
      if (input.includes(sig.slice(2))) return transactionHash
    }
    return undefined
  },
})

function parse(args: unknown): ClaimArgs {
  const parsed = claimArgs.safeParse(args)
  if (!parsed.success) throw new CannotBuild(`the claim does not fit: ${parsed.error.issues[0]?.message}`)
  return parsed.data
}

const claimNonce = (client: BuildContext['client'], contract: Address, recipient: Address): Promise<bigint> =>
  client.readContract({ abi: phygitalAbi, address: contract, functionName: 'claimNonces', args: [recipient] })

/** Which of the two moves a token: it is claimed from whoever has it, and minted while nobody has. */
async function callFor(
  client: BuildContext['client'],
  contract: Address,
  tokenId: bigint,
): Promise<ClaimArgs['call']> {
  return (await ownerOf(client, contract, tokenId)) === undefined ? 'mintNFT' : 'claimNFT'
}

/** It was minted in the meantime, or is not there after all. */
async function isOtherCall(reverted: Reverted, contract: Address, tokenId: bigint): Promise<boolean> {
  const { functionName } = decodeFunctionData({ abi: phygitalAbi, data: reverted.data })
  return functionName !== (await callFor(reverted.client, contract, tokenId))
}

function isExpired({ data, blockNumber }: Reverted): boolean {
  const [, blockExpiry] = decodeFunctionData({ abi: phygitalAbi, data }).args ?? []
  return typeof blockExpiry === 'bigint' && BigInt(blockNumber) >= blockExpiry
}

/**
 * Whether it was signed for another nonce than the one that counted. `WrongSigner` says which that is; a contract in
 * the field says it in its own way, so there the nonce that counts now decides.
 */
async function isStaleNonce(reverted: Reverted, contract: Address, recipient: Address): Promise<boolean> {
  const { counted, rerun, client } = reverted
  // The nonce that it was signed for came only after it was mined.
  if (rerun.passes) return true
  const error = rerun.data && decoded(rerun.data)
  if (error?.errorName === 'WrongSigner') return error.args[1] !== counted
  if (error) return false
  return (await claimNonce(client, contract, recipient)) !== counted
}

function decoded(data: Hex) {
  try {
    return decodeErrorResult({ abi: phygitalAbi, data })
  } catch {
    // Not one of our contract's errors.
    return undefined
  }
}
