import { randomInt } from 'node:crypto'

/** The header by which the CLI tells with each request of a batch which one it belongs to. */
export const batchHeader = 'tapchip-batch'

export const isBatchId = (text: string): boolean => /^b_[0-9a-z]{14}$/.test(text)

// Crockford's base 32 has no letters that are mistaken for others.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const digits = (value: number, count: number): string => {
  let text = ''
  for (let rest = value; text.length < count; rest = Math.floor(rest / 32))
    text = (alphabet[rest % 32] ?? '0') + text
  return text
}

/** IDs sort by creation time. @param now milliseconds since the epoch */
export const newBatchId = (now: number): string => `b_${digits(now, 9)}${digits(randomInt(32 ** 5), 5)}`
