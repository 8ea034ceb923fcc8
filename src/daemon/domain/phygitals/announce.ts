import type { Chains } from '../../chain/chains.ts'
import type { Queries } from '../../store/database.ts'
import type { LocatedToken } from '../../store/tokens.ts'
import { announceTokens } from '../chain/announcements.ts'
import type { BudgetClock } from '../time.ts'

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
  deps: { chains: Pick<Chains, 'has' | 'get'>; clock: BudgetClock },
  tokens: readonly LocatedToken[],
): Promise<void> {
  for (const group of byContract(tokens.filter((token) => isAnnounced(deps, token)))) {
    const [first] = group
    if (!first) continue
    const { contractId, contractAddress: address, chainId, teamId } = first
    const tokenIds = group.map((token) => token.tokenId)
    await announceTokens(trx, deps, { contractId, kind: 'phygital', address, chainId, teamId, tokenIds })
  }
}
