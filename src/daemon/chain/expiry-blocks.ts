import type { ChainClient } from './chain-client.ts'

const lifetimeSeconds = 1800
const sample = 100n
// A signature that expires within a block or two could never be mined.
const minBlocks = 50
const measuredForMs = 3_600_000

/**
 * Returns the number of blocks in half an hour, measured over the latest hundred blocks and cached for an hour.
 * A chain that is too young is assumed to make a block every twelve seconds.
 */
export function expiryBlocksOf(client: ChainClient): () => Promise<number> {
  let known: Promise<number> | undefined
  let at = 0
  const measure = async (): Promise<number> => {
    const latest = await client.getBlock({ blockTag: 'latest' })
    if (latest.number <= sample) return lifetimeSeconds / 12
    const earlier = await client.getBlock({ blockNumber: latest.number - sample })
    const seconds = Number(latest.timestamp - earlier.timestamp) / Number(sample)
    return Math.max(minBlocks, Math.ceil(lifetimeSeconds / Math.max(seconds, 0.1)))
  }
  return () => {
    if (known && performance.now() - at < measuredForMs) return known
    at = performance.now()
    known = measure().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}
