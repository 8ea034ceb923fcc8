import {
  type Address,
  decodeErrorResult,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { revertOf } from '../../chain/node-answer.ts'
import { plainText as plain } from '../../outbound/foreign-text.ts'
import type { GroupGas } from '../chain/group-size.ts'
import { readChain } from '../chain/read-chain.ts'
import { DomainError } from '../errors/errors.ts'

const usedByMint = 82_000
const mintGas = 150_000
/** Of `mintBatch`, each to a guest without code. */
export const mintBatchGas: GroupGas = { group: 40_000, mint: 56_000 }
/** Gas for a recipient contract's hook; the contract's batch mint allows as much. */
const hookGas = 250_000
// The caller keeps 1/64 of a call's gas (EIP-150).
const mintWithHookGas = mintGas + Math.ceil((hookGas * 64) / 63)

/** The recipient has no code that decides how much gas its mint takes. @param limit from `gasToMintTo` */
export const isPlain = (limit: number): boolean => limit === mintGas

/** Maximum gas of a mint. @param limit from `gasToMintTo` */
export const gasTaken = (limit: number): number => (isPlain(limit) ? usedByMint : limit)

const receiverAbi = parseAbi([
  'function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes data) returns (bytes4)',
])
const reasonAbi = parseAbi(['error Error(string reason)'])
/** The ERC-1155 acceptance value. */
const accepted = '0xf23a6e61'

/**
 * Calls the recipient as the guestbook will, which works even before the guestbook exists. @returns the gas limit
 * for the mint @throws DomainError chain_unavailable, simulation_reverted
 */
export async function gasToMintTo(
  chain: Chain,
  { address, tokenId }: { address: string; tokenId: string },
  recipient: string,
): Promise<number> {
  const to = getAddress(recipient)
  const code = await readChain(chain, () => chain.client.getCode({ address: to }))
  if (code === undefined) return mintGas
  const reason = await receiverRefusal(chain, { from: getAddress(address), to, tokenId: BigInt(tokenId) })
  if (reason === undefined) return mintWithHookGas
  throw new DomainError(
    'simulation_reverted',
    `The recipient ${to} is a contract that does not accept the token ${tokenId} of ${address}: ${reason}. Nothing was used up; name another recipient.`,
  )
}

async function receiverRefusal(
  chain: Chain,
  { from, to, tokenId }: { from: Address; to: Address; tokenId: bigint },
): Promise<string | undefined> {
  const data = encodeFunctionData({
    abi: receiverAbi,
    functionName: 'onERC1155Received',
    args: [chain.relayer, zeroAddress, tokenId, 1n, '0x'],
  })
  const outcome = await readChain(chain, async () => {
    try {
      const { data: answer } = await chain.client.call({ account: from, to, data, gas: BigInt(hookGas) })
      return { answer }
    } catch (error) {
      const reason = revertReason(error)
      if (reason === undefined) throw error
      return { reason }
    }
  })
  if ('reason' in outcome) return outcome.reason
  return outcome.answer?.startsWith(accepted)
    ? undefined
    : 'it does not confirm that it accepts the token (ERC-1155)'
}

/** Why a call failed on the chain; undefined if the connection failed. */
function revertReason(error: unknown): string | undefined {
  const revert = revertOf(error)
  if (revert === undefined) return undefined
  const { reason, data } = revert
  if (/out ?of ?gas/i.test(reason)) return `it needs more than ${hookGas} gas to receive a token`
  if (data === undefined) return plain(reason)
  if (data === '0x') return 'it has no onERC1155Received, or reverts without a reason'
  const text = plainText(data)
  return text === undefined ? `it reverts with ${data.slice(0, 10)}` : plain(text)
}

function plainText(data: Hex): string | undefined {
  try {
    return decodeErrorResult({ abi: reasonAbi, data }).args[0]
  } catch {
    // The recipient's custom error.
    return undefined
  }
}
