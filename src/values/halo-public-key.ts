import { createPublicKey, type KeyObject } from 'node:crypto'

const LENGTH = 65
const UNCOMPRESSED = 0x04
const SPKI_UNCOMPRESSED = Buffer.from('3056301006072a8648ce3d020106052b8104000a034200', 'hex')
const SPKI_COMPRESSED = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')

export const notAHaloKey = 'must be an uncompressed public key: 130 hex digits that begin with 04'

/** Checks only the format of an uncompressed point. */
export const isHaloKey = (key: Uint8Array): boolean => key.length === LENGTH && key[0] === UNCOMPRESSED

/** @returns 65 bytes */
export function parseHaloPublicKey(hex: string): Buffer | undefined {
  return /^04[0-9A-Fa-f]{128}$/.test(hex) ? Buffer.from(hex, 'hex') : undefined
}

/**
 * Worth caching. @param point of secp256k1: 65 bytes, or 33 compressed @returns undefined for an invalid point
 */
export function keyOfPoint(point: Uint8Array): KeyObject | undefined {
  const prefix = point.length === LENGTH ? SPKI_UNCOMPRESSED : SPKI_COMPRESSED
  try {
    return createPublicKey({ key: Buffer.concat([prefix, point]), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** @returns the reason for a rejection, which can follow a field's name */
export function checkHaloPublicKey(hex: string): string | undefined {
  const key = parseHaloPublicKey(hex)
  if (key === undefined) return notAHaloKey
  return keyOfPoint(key) ? undefined : 'must be a point of secp256k1: was it mistyped?'
}
