import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 32
const checksumLength = 6

/** 32 random characters and a checksum of six, which reveals typos and lets scanners recognize leaked secrets. */
export function newSecret(prefix: 'svc' | 'adm'): string {
  let random = ''
  while (random.length < randomLength) {
    // 248 is the last multiple of 62 below 256: larger bytes would favor some characters.
    for (const byte of randomBytes(64))
      if (byte < 248 && random.length < randomLength) random += alphabet[byte % 62]
  }
  return `${prefix}_${random}${checksum(random)}`
}

/** False for a truncated or mistyped secret. Keys from a seed need not pass. */
export function isWhole(secret: string): boolean {
  const body = secret.slice(secret.indexOf('_') + 1)
  const random = body.slice(0, randomLength)
  return body.length === randomLength + checksumLength && body.slice(randomLength) === checksum(random)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let out = ''
  for (let i = 0; i < checksumLength; i++) {
    out = `${alphabet[rest % 62]}${out}`
    rest = Math.floor(rest / 62)
  }
  return out
}

/** For memory only; the store has an HMAC of it. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Enough to tell keys apart in a list, but never enough to use one. */
export const hintOf = (secret: string): string => `${secret.slice(0, secret.length < 20 ? 1 : 7)}…`
