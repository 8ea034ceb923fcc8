import type { Chain } from '../../chain/chains.ts'
import { readChain, ttlCached } from '../chain/read-chain.ts'
import { phygitalCode } from '../contracts/deployed.ts'

/** A mint to an address that holds none of the contract's tokens yet, as part of a group. */
const gasOfMint = 52_000
/** What a group takes besides its mints. */
const gasOfGroup = 50_000
const maxSize = 100
/** Blocks are shared with others. */
const partOfBlock = 10

/** The number of mints that share a transaction; 1 if the contract mints no groups. @throws DomainError chain_unavailable */
export async function groupSize(chain: Chain, contractAddress: string): Promise<number> {
  if (!(await phygitalCode(chain, contractAddress)).isCurrent) return 1
  const { gasLimit } = await ttlCached(chain, 'block', 60_000, () =>
    readChain(chain, () => chain.client.getBlock({ includeTransactions: false })),
  )
  return Math.max(1, Math.min(maxSize, Math.floor((Number(gasLimit) / partOfBlock - gasOfGroup) / gasOfMint)))
}

/** An estimate, without a margin. */
export const gasOfMints = (mints: number, groups: number): number => groups * gasOfGroup + mints * gasOfMint
