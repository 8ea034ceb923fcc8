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
} from 'viem'
import { guestbookAbi } from './artifacts/guestbook.ts'
import { earlierPhygitals, phygitalAbi, phygitalCodeHash } from './artifacts/phygital.ts'
import type { ChainClient } from './chain-client.ts'
import { guestbookCodeHash } from './deterministic-deployment.ts'
import { revertOf } from './node-answer.ts'
import { MalformedAnswer } from './rpc-connection.ts'

/** By a contract that is known to exist. */
export class OwnerUnreadable extends MalformedAnswer {}

/** The contract at an address. Values that it does not provide are undefined. */
export interface ContractState {
  /** keccak256; undefined if there is no code. */
  codeHash: Hex | undefined
  isOurCode: boolean
  /** Our code as this version deploys it. Only this has royalties and mints in groups; when it changes, it will not be alone. */
  isCurrent: boolean
  owner: Address | undefined
}

interface PhygitalState extends ContractState {
  /** The pending owner, who becomes the owner by accepting. */
  pendingOwner: Address | undefined
  signVerifier: Address | undefined
}

interface GuestbookState extends ContractState {
  isMinter: boolean | undefined
}

/**
 * A node that lacks this block says so, instead of answering for the latest block it has. Absent: the node's
 * latest.
 */
export type AtBlock = { blockNumber?: bigint }

const phygitalCodes: readonly Hex[] = [phygitalCodeHash, ...earlierPhygitals.map(({ codeHash }) => codeHash)]

export async function phygitalAt(
  client: ChainClient,
  address: Address,
  at: AtBlock = {},
): Promise<PhygitalState> {
  const found = await phygitalCodeAt(client, address, at)
  const contract = { abi: phygitalAbi, address, ...at } as const
  const [owner, pendingOwner, signVerifier] = await Promise.all([
    readIfDeployed(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    readIfDeployed(found, () => client.readContract({ ...contract, functionName: 'pendingOwner' })),
    readIfDeployed(found, () => client.readContract({ ...contract, functionName: 'getSignVerifier' })),
  ])
  return { ...found, owner, pendingOwner, signVerifier }
}

export const phygitalCodeAt = (client: ChainClient, address: Address, at: AtBlock = {}): Promise<FoundCode> =>
  codeAt(client, address, phygitalCodes, at)

export async function guestbookAt(
  client: ChainClient,
  address: Address,
  minter: Address,
  at: AtBlock = {},
): Promise<GuestbookState> {
  const found = await codeAt(client, address, [guestbookCodeHash()], at)
  const contract = { abi: guestbookAbi, address, ...at } as const
  const [owner, isMinter] = await Promise.all([
    readIfDeployed(found, () => client.readContract({ ...contract, functionName: 'owner' })),
    readIfDeployed(found, () =>
      client.readContract({ ...contract, functionName: 'isMinter', args: [minter] }),
    ),
  ])
  return { ...found, owner, isMinter }
}

type FoundCode = Pick<ContractState, 'codeHash' | 'isOurCode' | 'isCurrent'>

/** @param codes hashes of our code, the current one first */
async function codeAt(
  client: ChainClient,
  address: Address,
  codes: readonly Hex[],
  at: AtBlock,
): Promise<FoundCode> {
  const code = await client.getCode({ address, ...at })
  const codeHash = code && keccak256(code)
  const isOurCode = codeHash !== undefined && codes.includes(codeHash)
  return { codeHash, isOurCode, isCurrent: isOurCode && codeHash === codes[0] }
}

/** Unknown code may fail in any way; our own always answers, so its failures are those of the connection. */
async function readIfDeployed<T>(
  { codeHash, isOurCode }: FoundCode,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  if (codeHash === undefined) return undefined
  try {
    return await ask()
  } catch (error) {
    if (!isOurCode) return undefined
    throw isRefusal(error) ? new MalformedAnswer('the node does not run our own code') : error
  }
}

/**
 * Returns a token's owner; undefined if it is not minted or there is no contract yet. Only a revert of the
 * contract itself counts as unminted: after an unreadable answer, minting a token that may already exist would
 * be wrong.
 * @param options `isDeployed`: the contract is known to exist, so a node without it is behind
 * @throws OwnerUnreadable, and errors of the connection
 */
export async function ownerOf(
  client: ChainClient,
  contract: Address,
  tokenId: bigint,
  { isDeployed = false, ...at }: AtBlock & { isDeployed?: boolean } = {},
): Promise<Address | undefined> {
  const data = encodeFunctionData({ abi: phygitalAbi, functionName: 'ownerOf', args: [tokenId] })
  let answer: Hex | undefined
  try {
    answer = (await client.call({ to: contract, data, ...at })).data
  } catch (error) {
    if (revertOf(error)) return undefined
    throw error
  }
  // An address in 32 bytes; more bytes may follow.
  const owner = /^0x0{24}([0-9a-f]{40})/i.exec(answer ?? '')?.[1]
  if (owner !== undefined) return BigInt(`0x${owner}`) === 0n ? undefined : getAddress(`0x${owner}`)
  if (answer === undefined && !isDeployed && !(await hasCode(client, contract))) return undefined
  throw new OwnerUnreadable(`what ${contract} says about the owner of token ${tokenId} is not an address`)
}

/**
 * True if the chain ran the call and it failed or returned something unreadable, rather than that the node
 * could not be reached.
 */
export const isRefusal = (error: unknown): boolean => revertOf(error) !== undefined || isUnreadable(error)

/** True if the answer does not fit the function, for example because there is no contract. */
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

export const hasCode = async (client: ChainClient, address: Address): Promise<boolean> =>
  (await client.getCode({ address })) !== undefined
