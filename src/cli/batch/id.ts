import { randomBytes } from 'node:crypto'

// Crockford's base 32: no letter that is taken for another.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const digits = (value: number, count: number): string => {
  let text = ''
  for (let rest = value; text.length < count; rest = Math.floor(rest / 32))
    text = (alphabet[rest % 32] ?? '0') + text
  return text
}

/** Ids that sort by the time they were made. */
export const newBatchId = (now: Date): string =>
  `b_${digits(now.getTime(), 9)}${digits(randomBytes(4).readUInt32BE() % 32 ** 5, 5)}`

export const isBatchId = (text: string): boolean => /^b_[0-9a-z]{14}$/.test(text)
