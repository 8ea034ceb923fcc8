import { type Address, encodeFunctionData, type Hex } from 'viem'
import * as z from 'zod'
import { phygitalAbi } from '../artifacts/phygital.ts'
import { OwnerUnreadable, ownerOf } from '../contract-state.ts'
import { isEndless, messageOf, revertOf } from '../node-answer.ts'
import type { Builder } from './builder.ts'
import { contractCall, invocationOf, refusalIn } from './contract-call.ts'
import { CannotBuild, ContractUnreadable } from './errors.ts'
import { claimArgs } from './phygital-claim.ts'
import { movesSince } from './token-moves.ts'

export const moveBuilder = 'contract-move'

const moveArgs = claimArgs.extend({
  /** Who may have the token when it moves, EIP-55; none for a mint. */
  owners: z.array(z.string()),
  with: contractCall,
  baseUri: z.string(),
})
export type MoveArgs = z.infer<typeof moveArgs>

const maxSignings = 3

/**
 * Moves or mints a token of a contract that knows no claim nonce: its owner shows what has happened. So a token's
 * transactions follow each other, and what was signed once is looked for before it is signed again.
 */
export const contractMove: Builder = {
  isJudgedByState: true,

  async build(args, { client, from, at }) {
    const move = parse(args)
    const { contract, recipient } = move
    const tokenId = BigInt(move.tokenId)
    const owner = await readable(ownerOf(client, contract, tokenId, { isDeployed: true, ...at }))
    assertExpected(move, owner)
    let data: Hex
    try {
      data = encodeFunctionData(invocationOf(move.with, { owner, recipient, tokenId, baseUri: move.baseUri }))
    } catch (cause) {
      throw new CannotBuild(`the function ${move.with.name} does not take token ${tokenId}`, { cause })
    }
    try {
      await readable(client.call({ account: from, to: contract, data, ...at }))
    } catch (error) {
      const revert = revertOf(error)
      if (!revert) throw error
      throw new CannotBuild(`the contract refuses it: ${refusalIn(revert).reason}`)
    }
    return { to: contract, data }
  },

  isUpToReceiver: async () => true,

  // The next build checks who has the token by then.
  afterRevert: async (_args, { rerun, signings }) =>
    rerun.passes && signings < maxSignings ? 'resign' : 'give up',

  since(args, question) {
    const { contract, recipient, tokenId } = parse(args)
    return movesSince({ contract, recipient, tokenId }, question)
  },

  async withoutEffect(args, { hash, blockHash, client, at }) {
    const { contract, recipient, tokenId } = parse(args)
    const owner = await readable(
      ownerOf(client, contract, BigInt(tokenId), { isDeployed: true, ...at }),
    ).catch(ifReadable)
    if (owner === recipient) return undefined
    // The recipient may have moved it on since.
    const events = { abi: phygitalAbi, address: contract, eventName: 'Transfer', blockHash } as const
    const ours = { to: recipient, tokenId: BigInt(tokenId) }
    const moves = await client.getContractEvents({ ...events, args: ours })
    if (moves.some(({ transactionHash }) => transactionHash === hash)) return undefined
    return `the call succeeded, but token ${tokenId} ${owner === undefined ? 'does not exist' : `belongs to ${owner}`}`
  },
}

/** A contract that does not name the owner must not leave its transactions unsettled. */
function ifReadable(error: unknown): undefined {
  if (!(error instanceof ContractUnreadable)) throw error
}

/** @throws ContractUnreadable if the contract is to blame rather than the node */
async function readable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    if (!(cause instanceof OwnerUnreadable) && !isEndless(cause)) throw cause
    throw new ContractUnreadable(`the contract cannot be asked: ${messageOf(cause)}`, { cause })
  }
}

function parse(args: unknown): MoveArgs {
  const parsed = moveArgs.safeParse(args)
  if (parsed.success) return parsed.data
  throw new CannotBuild(`the transfer is invalid: ${parsed.error.issues[0]?.message}`)
}

/** Its holder may have moved the token, or somebody minted it, since the transfer was requested. */
function assertExpected({ call, owners, recipient, tokenId }: MoveArgs, owner: Address | undefined): void {
  if (owner === undefined ? call === 'mintNFT' : owner !== recipient && owners.includes(owner)) return
  throw new CannotBuild(
    owner === undefined
      ? `token ${tokenId} does not exist`
      : owner === recipient
        ? `token ${tokenId} belongs to ${recipient} already`
        : `token ${tokenId} belongs to ${owner}, unlike when this was requested`,
  )
}
