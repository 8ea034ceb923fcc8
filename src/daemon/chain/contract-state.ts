import {
  AbiDecodingDataSizeTooSmallError,
  type Address,
  BaseError,
  ContractFunctionZeroDataError,
  encodeFunctionData,
  getAddress,
  type Hex,
  InvalidBytesBooleanError,
  keccak256,
  type PublicClient,
} from 'viem'
import { guestbookAbi } from './artifacts/guestbook.ts'
import { phygitalAbi, phygitalCodeHash } from './artifacts/phygital.ts'
import { guestbookCodeHash } from './deterministic-deployment.ts'
import { revertOf } from './revert.ts'
import { MalformedAnswer } from './rpc-connection.ts'

/** What stands at an address. What it does not say of itself is undefined. */
export interface ContractState {
  /** keccak256; undefined: there is no code. */
  codeHash: Hex | undefined
  /** Whether it is what this daemon deploys. */
  isOurCode: boolean
  owner: Address | undefined
}

export interface PhygitalState extends ContractState {
  /** Who becomes the owner as soon as they say so. */
  pendingOwner: Address | undefined
  signVerifier: Address | undefined
}

export interface GuestbookState extends ContractState {
  isMinter: boolean | undefined
}

/**
 * The block to look at: a node that does not have it yet says so, where it would answer for the latest it has.
 * Absent: whatever the node has.
 */
type At = { blockNumber?: bigint }

/** @throws what the way to the chain threw */
export async function phygitalAt(
  client: PublicClient,
  address: Address,
  at: At = {},
): Promise<PhygitalState> {
  const found = await codeAt(client, address, phygitalCodeHash, at)
  const contract = { abi: phygitalAbi, address, ...at } as const
  const [owner, pendingOwner, signVerifier] = await Promise.all([
    said(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'pendingOwner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'getSignVerifier' })),
  ])
  return { ...found, owner, pendingOwner, signVerifier }
}

/** @throws what the way to the chain threw */
export async function guestbookAt(
  client: PublicClient,
  address: Address,
  minter: Address,
  at: At = {},
): Promise<GuestbookState> {
  const found = await codeAt(client, address, guestbookCodeHash, at)
  const contract = { abi: guestbookAbi, address, ...at } as const
  const [owner, isMinter] = await Promise.all([
    said(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    said(found, () => client.readContract({ ...contract, functionName: 'isMinter', args: [minter] })),
  ])
  return { ...found, owner, isMinter }
}

type Found = Pick<ContractState, 'codeHash' | 'isOurCode'>

async function codeAt(client: PublicClient, address: Address, ours: Hex, at: At): Promise<Found> {
  const code = await client.getCode({ address, ...at })
  const codeHash = code && keccak256(code)
  return { codeHash, isOurCode: codeHash === ours }
}

/** Code of strangers may fail in every way there is; ours answers, so what fails there is the way to it. */
async function said<T>({ codeHash, isOurCode }: Found, ask: () => Promise<T>): Promise<T | undefined> {
  if (codeHash === undefined) return undefined
  try {
    return await ask()
  } catch (error) {
    if (!isOurCode) return undefined
    throw isRefusal(error) ? new MalformedAnswer('the node does not run our own code') : error
  }
}

/**
 * Who owns a token by the chain; undefined: nobody, since it is not minted, or since no contract is there yet.
 * Nobody is what the contract itself says, by a revert. An answer that is none says nothing about a token: what is
 * taken for unminted is minted.
 * @param isThere the contract is known to be there: a node that says otherwise is behind
 * @throws MalformedAnswer, and what the way to the chain threw
 */
export async function ownerOf(
  client: PublicClient,
  contract: Address,
  tokenId: bigint,
  isThere = false,
): Promise<Address | undefined> {
  const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'ownerOf', args: [tokenId] })
  let said: Hex | undefined
  try {
    said = (await client.call({ to: contract, data })).data
  } catch (error) {
    if (revertOf(error)) return undefined
    throw error
  }
  // An address in 32 bytes, and nothing else: more than the bytes that are needed may follow.
  const owner = /^0x0{24}([0-9a-f]{40})/i.exec(said ?? '')?.[1]
  if (owner !== undefined) return BigInt(`0x${owner}`) === 0n ? undefined : getAddress(`0x${owner}`)
  if (said === undefined && !isThere && !(await hasCode(client, contract))) return undefined
  throw new MalformedAnswer(`what ${contract} says of the owner of token ${tokenId} is no address`)
}

/** Whether the chain ran a call and the call failed, or gave what is no answer, rather than that nobody could be asked. */
export const isRefusal = (error: unknown): boolean => revertOf(error) !== undefined || isUnreadable(error)

/** Whether a call was answered with something else than its function gives: nothing, say, where no contract is. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk(
    (cause) =>
      cause instanceof ContractFunctionZeroDataError ||
      cause instanceof AbiDecodingDataSizeTooSmallError ||
      cause instanceof InvalidBytesBooleanError ||
      // viem does not export its class.
      (cause instanceof Error && cause.name === 'PositionOutOfBoundsError'),
  ) !== null

export const hasCode = async (client: PublicClient, address: Address): Promise<boolean> =>
  (await client.getCode({ address })) !== undefined
