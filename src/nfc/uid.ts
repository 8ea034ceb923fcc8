// A chip's UID is seven bytes. On the wire and in the store it is the decimal string of those bytes, read
// big-endian: 1293660434600336 is 04 98 93 CA AA 11 90.

/** `reason` can follow a field's name. */
type UidParse = { ok: true; uid: string } | { ok: false; reason: string }

const BYTES = 7
const HEX_DIGITS = 14
/** 2^56 - 1. */
const MAX = '72057594037927935'
const HEX = /^[0-9A-Fa-f]{14}$/
const SCIENTIFIC = /^[+-]?\d+([.,]\d*)?[eE][+-]?\d+$/
const DIGITS = /^\d+$/
/** At least one letter. */
const CUT = /^(?=\d*[A-Fa-f])[0-9A-Fa-f]{10,13}$/

/** @param text decimal, or 14 hex digits of any case with or without colons. 14 characters are always hex. */
export function parseUid(text: string): UidParse {
  const { length } = text
  if (length !== HEX_DIGITS && isPlainDecimal(text)) {
    if (length < MAX.length || (length === MAX.length && text <= MAX)) return { ok: true, uid: text }
    return invalid(`must be at most ${MAX}, which is 7 bytes`)
  }
  const hex = text.includes(':') ? text.replaceAll(':', '') : text
  if (HEX.test(hex)) {
    const uid = decimalFromHex(hex)
    return uid === '0' ? invalid('must not be zero') : { ok: true, uid }
  }
  if (SCIENTIFIC.test(text))
    return invalid(
      'must not be in scientific notation: a spreadsheet dropped its last digits. ' +
        'Export the column again as text, or with UIDs in hex',
    )
  if (CUT.test(text))
    return invalid(
      `must be a UID: 14 hex digits, and has ${text.length}. A spreadsheet may have dropped the zero at its beginning: ` +
        'export the column again as text',
    )
  if (!DIGITS.test(text)) return invalid('must be a UID: 14 hex digits, colons allowed, or a decimal number')
  return invalid(
    /^0+$/.test(text) ? 'must not be zero' : 'must not begin with 0: a UID in decimal has no leading zeros',
  )
}

/** Seven bytes as 14 hex digits in upper case: `049893CAAA1190`. @param uid decimal, as parseUid gives it */
export function uidToHex(uid: string): string {
  const number = Number(uid)
  const hex = Number.isSafeInteger(number) ? number.toString(16) : BigInt(uid).toString(16)
  return hex.toUpperCase().padStart(HEX_DIGITS, '0')
}

/**
 * Rereads as decimal a UID that was read as hex: 14 digits are always read as hex, and one in a hundred HaLo chips has
 * a UID of 14 decimal digits. Use it when no chip is found under the first reading.
 */
export function decimalReading(uid: string): string | undefined {
  // Nearly all UIDs begin with 04, and this is asked for each row.
  if (Number(uid) < 0x10000000000000) return undefined
  const hex = uidToHex(uid)
  return /^[1-9]\d{13}$/.test(hex) ? hex : undefined
}

/** Spreadsheets keep this form as text: `04:98:93:CA:AA:11:90`. @param uid decimal */
export function uidToColons(uid: string): string {
  const hex = uidToHex(uid)
  let out = hex.slice(0, 2)
  for (let at = 2; at < HEX_DIGITS; at += 2) out += `:${hex.slice(at, at + 2)}`
  return out
}

/** The seven bytes, most significant first. @param uid decimal */
export function uidToBytes(uid: string): Buffer {
  return Buffer.from(uidToHex(uid), 'hex')
}

/** @returns the decimal string @throws RangeError unless there are seven bytes */
export function uidFromBytes(bytes: Uint8Array): string {
  if (bytes.length !== BYTES) throw new RangeError(`A UID has 7 bytes, not ${bytes.length}`)
  // In two parts of at most 32 bits; below 2^53 the sum is exact.
  const view = new DataView(bytes.buffer, bytes.byteOffset, BYTES)
  const high = view.getUint32(0) >>> 8
  const low = view.getUint32(3)
  return high < 0x200000 ? String(high * 2 ** 32 + low) : ((BigInt(high) << 32n) | BigInt(low)).toString()
}

function decimalFromHex(hex: string): string {
  const number = Number.parseInt(hex, 16)
  return Number.isSafeInteger(number) ? String(number) : BigInt(`0x${hex}`).toString()
}

/** A loop instead of a regular expression, since batches contain a million UIDs. */
function isPlainDecimal(text: string): boolean {
  const first = text.charCodeAt(0)
  if (!(first >= 0x31 && first <= 0x39)) return false
  for (let i = 1; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

function invalid(reason: string): UidParse {
  return { ok: false, reason }
}
