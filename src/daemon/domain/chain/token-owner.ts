import { setTimeout as later } from 'node:timers/promises'
import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/owner-of.ts'
import type { TokenLocation } from '../../store/tokens.ts'

/** Who has a token by the chain. `note`: why that is not known; without one nobody has it. */
export interface KnownOwner {
  owner: string | null
  note?: string
}

/** Who only wants to look at a chip does not wait for a chain that is silent. */
const timeoutMs = 3000

/** Asks the chain who has a token, where it can be asked. Never throws for the chain's sake. */
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
