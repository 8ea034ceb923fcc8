import { createPublicKey, type KeyObject } from 'node:crypto'

const LENGTH = 65
const UNCOMPRESSED = 0x04
const SPKI_UNCOMPRESSED = Buffer.from('3056301006072a8648ce3d020106052b8104000a034200', 'hex')
const SPKI_COMPRESSED = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')

export const notAHaloKey = 'must be an uncompressed public key: 130 hex digits that begin with 04'

/** Whether these are 65 bytes that begin as an uncompressed point does. */
export const isHaloKey = (key: Uint8Array): boolean => key.length === LENGTH && key[0] === UNCOMPRESSED

/** A public key in hex, as a URL, a sheet or a seed has it: its 65 bytes, or undefined. */
export function parseHaloPublicKey(hex: string): Buffer | undefined {
  return /^04[0-9A-Fa-f]{128}$/.test(hex) ? Buffer.from(hex, 'hex') : undefined
}

/**
 * A point of secp256k1 as a key to verify with, worth keeping; undefined when the bytes are none.
 * @param point 65 bytes, or 33 compressed
 */
export function keyOfPoint(point: Uint8Array): KeyObject | undefined {
  const prefix = point.length === LENGTH ? SPKI_UNCOMPRESSED : SPKI_COMPRESSED
  try {
    return createPublicKey({ key: Buffer.concat([prefix, point]), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** Why a text is no public key of a HaLo chip, said so that it can follow a field's name; undefined: it is one. */
export function checkHaloPublicKey(hex: string): string | undefined {
  const key = parseHaloPublicKey(hex)
  if (key === undefined) return notAHaloKey
  return keyOfPoint(key) ? undefined : 'must be a point of secp256k1: was it mistyped?'
}
