import { encodeFunctionData, type Hex } from 'viem'
import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chains } from '../../chain/chains.ts'
import { recordIntent } from '../../chain/relayer/record-intent.ts'
import type { Queries } from '../../store/database.ts'
import type { LocatedToken } from '../../store/tokens.ts'

// Announcing changed metadata (ERC-4906) takes 25,000 for the first token; each that goes with it 1,300, or 1,700 where
// its id has 77 digits.
const gasOfFirst = 25_000
const gasOfNext = 1_700

/** What it takes to announce so many tokens in one transaction, about. */
export const announceGas = (tokens: number): number => gasOfFirst + (tokens - 1) * gasOfNext
/** A limit, not what is paid. */
export const announceGasLimit = (tokens: number): number => 60_000 + (tokens - 1) * 2 * gasOfNext

/** A contract that was deployed elsewhere may have no such function; marketplaces are told about it all the same. */
export const isAnnounced = (
  { chains }: { chains: Pick<Chains, 'has'> },
  { contractTransactionId, chainId }: Pick<LocatedToken, 'contractTransactionId' | 'chainId'>,
): boolean => contractTransactionId !== null && chains.has(chainId)

/** Those of one contract go out together. */
export function byContract<T extends Pick<LocatedToken, 'contractId'>>(tokens: readonly T[]): T[][] {
  const groups = new Map<number, T[]>()
  for (const token of tokens) {
    const group = groups.get(token.contractId)
    if (group) group.push(token)
    else groups.set(token.contractId, [token])
  }
  return [...groups.values()]
}

/** Records that the metadata of tokens changed, for their contracts to say so: a transaction a contract. */
export async function announce(
  trx: Queries,
  deps: { chains: Pick<Chains, 'has'> },
  tokens: readonly LocatedToken[],
  now: number,
): Promise<void> {
  for (const group of byContract(tokens.filter((token) => isAnnounced(deps, token)))) {
    const [first] = group
    if (!first) continue
    const { contractAddress, chainId, tokenId, teamId } = first
    const ids = [...new Set(group.map((token) => token.tokenId))]
    await recordIntent(trx, {
      chainId,
      signer: 'relayer',
      deed: { to: getAddress(contractAddress), data: callFor(ids.map(BigInt), BigInt(tokenId)) },
      gasHint: announceGasLimit(ids.length),
      kind: 'phygital-refresh',
      subject: { contractAddress, chainId, ...(ids.length === 1 ? { tokenId } : { tokens: ids.length }) },
      teamId,
      now,
    })
  }
}

const callFor = (ids: readonly bigint[], first: bigint): Hex =>
  ids.length === 1
    ? encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshMetadata', args: [first] })
    : encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshMetadataBatch', args: [ids] })
