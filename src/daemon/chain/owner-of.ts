import {
  AbiDecodingDataSizeTooSmallError,
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  InvalidBytesBooleanError,
  type PublicClient,
  zeroAddress,
} from 'viem'
import { phygitalAbi } from './artifacts/phygital.ts'

/**
 * Who owns a token by the chain; undefined: nobody, since it is not minted, or since no contract is there yet.
 * @throws what the way to the chain threw
 */
export async function ownerOf(
  client: PublicClient,
  contract: Address,
  tokenId: bigint,
): Promise<Address | undefined> {
  try {
    const owner = await client.readContract({
      abi: phygitalAbi,
      address: contract,
      functionName: 'ownerOf',
      args: [tokenId],
    })
    return owner === zeroAddress ? undefined : owner
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** Whether the chain ran a call and the call failed, or gave what is no answer, rather than that nobody could be asked. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk(
    (cause) =>
      cause instanceof ContractFunctionRevertedError ||
      cause instanceof ContractFunctionZeroDataError ||
      cause instanceof AbiDecodingDataSizeTooSmallError ||
      cause instanceof InvalidBytesBooleanError ||
      // viem does not export its class.
      (cause instanceof Error && cause.name === 'PositionOutOfBoundsError'),
  ) !== null
