const firstMs = 2000
const growth = 1.5
const longestMs = 6 * 3_600_000
export const givenUpAfterMs = 3 * 24 * 3_600_000

/**
 * Milliseconds until the next try: 2 seconds, then half as long again each time, up to 6 hours. A fifth more or less
 * by chance, so that messages which failed together do not come back together.
 * @param failed tries so far, at least 1 @param chance from 0 to 1
 */
export function retryDelayMs(failed: number, chance: number): number {
  const delay = Math.min(firstMs * growth ** (failed - 1), longestMs)
  return Math.round(delay * (0.8 + 0.4 * chance))
}
