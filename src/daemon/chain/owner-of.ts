import {
  AbiDecodingDataSizeTooSmallError,
  type Address,
  BaseError,
  ContractFunctionZeroDataError,
  encodeFunctionData,
  getAddress,
  type Hex,
  InvalidBytesBooleanError,
  type PublicClient,
} from 'viem'
import { phygitalAbi } from './artifacts/phygital.ts'
import { revertOf } from './revert.ts'
import { MalformedAnswer } from './rpc-connection.ts'

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
