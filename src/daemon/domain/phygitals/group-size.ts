import type { Chain } from '../../chain/chains.ts'
import { type GroupGas, mintsPerGroup } from '../chain/group-size.ts'
import { phygitalCode } from '../contracts/deployed.ts'

/** Each mint to an address that holds none of the contract's tokens yet. */
export const mintManyGas: GroupGas = { group: 50_000, mint: 52_000 }

/** The number of mints that share a transaction; 1 if the contract mints no groups. @throws DomainError chain_unavailable */
export const groupSize = async (chain: Chain, contractAddress: string): Promise<number> =>
  (await phygitalCode(chain, contractAddress)).isCurrent ? mintsPerGroup(chain, mintManyGas) : 1
