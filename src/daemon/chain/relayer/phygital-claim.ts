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
import type { ChainClient } from '../chain-client.ts'
import { type AtBlock, hasCode, ownerOf } from '../contract-state.ts'
import { nodeAnswer } from '../node-answer.ts'
import type { Builder, RevertedTransaction } from './builder.ts'
import { CannotBuild } from './errors.ts'
import { movesSince, transfersOf } from './token-moves.ts'

export const claimBuilder = 'phygital-claim'

/** Signs a chain's claims. It never sends anything. */
interface SignVerifier {
  readonly address: Address
  /** EIP-191 over the bytes. */
  signMessage(message: { raw: Hex }): Promise<Hex>
}

const address = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), 'must be an address')
  .transform((text) => getAddress(text))
export const claimArgs = z.object({
  contract: address,
  recipient: address,
  tokenId: z.string().regex(/^\d+$/),
  /** mintNFT if no one has the token yet. */
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

/** The hash that contracts in the field verify: it does not contain the chain id. */
export const claimHash = ({ blockExpiry, recipient, tokenId, contract, nonce }: Claim): Hex =>
  keccak256(
    encodePacked(
      ['uint256', 'address', 'uint256', 'address', 'uint256'],
      [blockExpiry, recipient, tokenId, contract, nonce],
    ),
  )

/** The counter for a recipient's claim nonce. */
export const claimCounter = (contract: Address, recipient: Address): string =>
  `claim:${contract}:${recipient}`.toLowerCase()

export const maxSignings = 3

/**
 * For chains where an empty call takes 21,000: a mint to a new holder uses 102,000, and a receiving contract may need
 * some more. Checking a claim finds contracts that need much more.
 */
export const claimGas = 200_000

export interface ClaimOptions {
  signVerifier(chainId: number): SignVerifier
  expiryBlocks(chainId: number): number | Promise<number>
}

/**
 * Signs a claim together with its transaction: its nonce is the recipient's on the contract, advanced by pending claims
 * for the same recipient, so that any number of transfers to one address can be pending together.
 */
export function phygitalClaim({ signVerifier, expiryBlocks }: ClaimOptions): Builder {
  /** For a claim whose block was not recorded: with a margin, in case the setting has changed. */
  const oldestFor = async (client: ChainClient, blockExpiry: bigint): Promise<bigint> => {
    const margin = BigInt(4 * (await expiryBlocks(await client.getChainId())))
    return blockExpiry > margin ? blockExpiry - margin : 0n
  }
  return {
    counter(args) {
      const { contract, recipient } = parse(args)
      return {
        name: claimCounter(contract, recipient),
        read: (client, at) => claimNonce(client, contract, recipient, at),
      }
    },

    async build(args, ctx) {
      const { contract, recipient, tokenId, ...intended } = parse(args)
      // The token may have been minted since the intent was recorded.
      const call = ctx.signings === 0 ? intended.call : await callFor(ctx.client, contract, BigInt(tokenId))
      const blockExpiry = BigInt(ctx.blockNumber + (await expiryBlocks(ctx.chainId)))
      const claim = { blockExpiry, recipient, tokenId: BigInt(tokenId), contract, nonce: ctx.count }
      const sig = await signVerifier(ctx.chainId).signMessage({ raw: claimHash(claim) })
      const data = encodeFunctionData({
        abi: phygitalAbi,
        functionName: call,
        args: [sig, blockExpiry, recipient, claim.tokenId],
      })
      return { to: contract, data, gas: claimGas }
    },

    isUpToReceiver: (args, client) => hasCode(client, parse(args).recipient),

    async afterRevert(args, reverted) {
      const { contract, recipient, tokenId } = parse(args)
      // A recipient contract can accept every trial run and refuse the real call.
      if (reverted.rerun.passes && reverted.signings >= maxSignings) return 'give up'
      const stale =
        isExpired(reverted) ||
        (await isOtherCall(reverted, contract, BigInt(tokenId))) ||
        (await isStaleNonce(reverted, contract, recipient))
      return stale ? 'resign' : 'give up'
    },

    async doneBy({ to, data, counted, signedBlock, untilBlock, client }) {
      // Of a group, the first one stands for all.
      const args = decodeFunctionData({ abi: phygitalAbi, data }).args?.map((value) => [value].flat()[0])
      const [sig, blockExpiry, recipient, tokenId] = args ?? []
      if (to === null || typeof sig !== 'string' || typeof blockExpiry !== 'bigint') return undefined
      const holder = getAddress(String(recipient))
      if (counted !== undefined && (await isUnused(client, to, holder, counted, untilBlock))) return undefined
      const range = {
        from: BigInt(signedBlock ?? (await oldestFor(client, blockExpiry))),
        to: blockExpiry < untilBlock ? blockExpiry : BigInt(untilBlock),
      }
      const move = { to: holder, tokenId: BigInt(String(tokenId)) }
      for await (const { transactionHash } of transfersOf(client, to, move, range)) {
        const { input } = await client.getTransaction({ hash: transactionHash })
        // The signature is valid only for this transfer, so its sender does not matter.
        if (input.includes(sig.slice(2))) return transactionHash
      }
      return undefined
    },

    since: async (args, question) => movesSince(parse(args), question),
  }
}

const known = new WeakMap<object, ClaimArgs>()

/** Cached by object: besides signatures, address checksums are the slowest part of a claim. */
export function parse(args: unknown): ClaimArgs {
  const before = typeof args === 'object' && args !== null ? known.get(args) : undefined
  if (before) return before
  const parsed = claimArgs.safeParse(args)
  if (!parsed.success) throw new CannotBuild(`the claim is invalid: ${parsed.error.issues[0]?.message}`)
  if (typeof args === 'object' && args !== null) known.set(args, parsed.data)
  return parsed.data
}

const claimNonce = (
  client: ChainClient,
  contract: Address,
  recipient: Address,
  at: AtBlock = {},
): Promise<bigint> =>
  client.readContract({
    abi: phygitalAbi,
    address: contract,
    functionName: 'claimNonces',
    args: [recipient],
    ...at,
  })

/** A copied claim would have used its nonce, so no logs are read if that is still free. */
async function isUnused(
  client: ChainClient,
  contract: Address,
  recipient: Address,
  counted: bigint,
  block: number,
): Promise<boolean> {
  try {
    return (await claimNonce(client, contract, recipient, { blockNumber: BigInt(block) })) <= counted
  } catch (error) {
    // For example, the state of that block was pruned; logs are kept longer.
    if (nodeAnswer(error)) return false
    throw error
  }
}

/** An existing token is claimed from its holder; otherwise it is minted. */
async function callFor(client: ChainClient, contract: Address, tokenId: bigint): Promise<ClaimArgs['call']> {
  return (await ownerOf(client, contract, tokenId)) === undefined ? 'mintNFT' : 'claimNFT'
}

/** The token was minted in the meantime, or does not exist after all. */
async function isOtherCall({ data, client }: RevertedTransaction, contract: Address, tokenId: bigint) {
  const { functionName } = decodeFunctionData({ abi: phygitalAbi, data })
  return functionName !== (await callFor(client, contract, tokenId))
}

export function isExpired({ data, blockNumber }: RevertedTransaction): boolean {
  const [, blockExpiry] = decodeFunctionData({ abi: phygitalAbi, data }).args ?? []
  return typeof blockExpiry === 'bigint' && BigInt(blockNumber) >= blockExpiry
}

/**
 * True if it was signed for the wrong nonce. `WrongSigner` contains the right one; other contracts report it
 * differently, so for them the current nonce decides.
 */
async function isStaleNonce(
  reverted: RevertedTransaction,
  contract: Address,
  recipient: Address,
): Promise<boolean> {
  const { counted, rerun, client } = reverted
  // The nonce became valid only after the transaction was mined.
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
    // It is not one of our contract's errors.
    return undefined
  }
}
