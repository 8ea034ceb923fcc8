import { setTimeout as later } from 'node:timers/promises'
import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import type { TokenLocation } from '../../store/tokens.ts'

/** A token's owner on its chain. `note`: why the owner is unknown; without it, the token has no owner. */
export interface KnownOwner {
  owner: string | null
  note?: string
}

/** Showing a chip must not wait for a silent chain. */
const timeoutMs = 3000

/** Never throws because of the chain. */
export async function ownerByChain(
  { chains }: { chains: Chains },
  { chainId, contractAddress, tokenId }: TokenLocation,
): Promise<KnownOwner> {
  if (!chains.has(chainId)) return { owner: null, note: `chain ${chainId} is not configured here` }
  const { client } = chains.get(chainId)
  const silence: KnownOwner = { owner: null, note: `chain ${chainId} does not answer` }
  const answer = ownerOf(client, getAddress(contractAddress), BigInt(tokenId)).then(
    (owner): KnownOwner => ({ owner: owner ?? null }),
    () => silence,
  )
  const settled = new AbortController()
  const timeout = later(timeoutMs, silence, { signal: settled.signal }).catch(() => silence)
  try {
    return await Promise.race([answer, timeout])
  } finally {
    settled.abort()
  }
}
