import type { PublicClient } from 'viem'

const lifetimeSeconds = 1800
const sample = 100n

/**
 * How many blocks half an hour takes on a chain, as its latest hundred took. Asked once; a chain that is too young to
 * tell is taken for one with a block every twelve seconds.
 */
export function expiryBlocksOf(client: PublicClient): () => Promise<number> {
  let known: Promise<number> | undefined
  const measure = async (): Promise<number> => {
    const latest = await client.getBlock({ blockTag: 'latest' })
    if (latest.number <= sample) return lifetimeSeconds / 12
    const earlier = await client.getBlock({ blockNumber: latest.number - sample })
    const seconds = Number(latest.timestamp - earlier.timestamp) / Number(sample)
    return Math.ceil(lifetimeSeconds / Math.max(seconds, 0.1))
  }
  return () => {
    known ??= measure().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}
