import type { Chain } from '../../chain/chains.ts'
import { readChain, ttlCached } from './read-chain.ts'

/** What a group takes of gas, and each of its mints. Estimates, without a margin. */
export interface GroupGas {
  readonly group: number
  readonly mint: number
}

const maxSize = 100
/** Blocks are shared with others. */
const partOfBlock = 10

/** The number of mints that share a transaction. @throws DomainError chain_unavailable */
export async function mintsPerGroup(chain: Chain, { group, mint }: GroupGas): Promise<number> {
  const { gasLimit } = await ttlCached(chain, 'block', 60_000, () =>
    readChain(chain, () => chain.client.getBlock({ includeTransactions: false })),
  )
  return Math.max(1, Math.min(maxSize, Math.floor((Number(gasLimit) / partOfBlock - group) / mint)))
}

export const gasOfMints = ({ group, mint }: GroupGas, mints: number, groups: number): number =>
  groups * group + mints * mint

/** Of mints of one contract. @returns undefined if they share no transactions */
export function groupsOf(gas: GroupGas, mints: number, size: number) {
  if (size < 2 || mints < 2) return undefined
  const count = Math.ceil(mints / size)
  return {
    count,
    gas: gasOfMints(gas, mints, count),
    largest: gasOfMints(gas, Math.min(mints, size), 1),
  }
}
