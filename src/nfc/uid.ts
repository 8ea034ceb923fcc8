import { withoutInvisible } from '../values/invisible.ts'

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
const DECIMAL = /^[1-9]\d*$/
/** At least one letter. */
const SHORT_HEX = /^(?=\d*[A-Fa-f])[0-9A-Fa-f]{10,13}$/

/** Bytes in pairs, as tools print them: `04:A1:…`, `04-a1-…`, `04  a1 …` (libnfc), `0x04 0xA1 …`; and `0x04a1…`. */
const PAIRS =
  /^(0x)?[0-9A-Fa-f]{2}(?:([:-]| {1,2}|, ?)\1?[0-9A-Fa-f]{2}(?:\2\1?[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{12})$/i

/**
 * @param input decimal, or 14 hex digits of any case, alone or in the forms of PAIRS. 14 characters are always hex. What
 * is invisible does not count, nor do blanks around it and an apostrophe before it.
 */
export function parseUid(input: string): UidParse {
  const parsed = parse(input)
  if (parsed.ok) return parsed
  // A spreadsheet keeps a cell as text by an apostrophe before it.
  const text = withoutInvisible(input).trim().replace(/^'/, '')
  return text === input ? parsed : parse(text)
}

function parse(text: string): UidParse {
  const { length } = text
  if (length !== HEX_DIGITS && DECIMAL.test(text)) {
    if (length < MAX.length || (length === MAX.length && text <= MAX)) return { ok: true, uid: text }
    return invalid(`must be at most ${MAX}, which is 7 bytes`)
  }
  const hex = hexIn(text)
  if (HEX.test(hex)) {
    const uid = decimalFromHex(hex)
    return uid === '0' ? invalid('must not be zero') : { ok: true, uid }
  }
  if (SCIENTIFIC.test(text))
    return invalid(
      'must not be in scientific notation: a spreadsheet dropped its last digits. ' +
        'Export the column again as text, or with UIDs in hex',
    )
  if (SHORT_HEX.test(text))
    return invalid(
      `must be a UID: 14 hex digits, and has ${text.length}. A spreadsheet may have dropped the zero at its beginning: ` +
        'export the column again as text',
    )
  if (!DIGITS.test(text))
    return invalid('must be a UID: 14 hex digits, alone or in pairs (04:A1:…), or a decimal number')
  return invalid(
    /^0+$/.test(text) ? 'must not be zero' : 'must not begin with 0: a UID in decimal has no leading zeros',
  )
}

/** Seven bytes as 14 hex digits in upper case: `049893CAAA1190`. @param uid decimal, as parseUid gives it */
export function uidToHex(uid: string): string {
  return BigInt(uid).toString(16).toUpperCase().padStart(HEX_DIGITS, '0')
}

/** 14 digits would be read as hex, so a decimal UID that has them is sent in hex. @param uid decimal */
export const uidOnWire = (uid: string): string => (uid.length === 14 ? uidToHex(uid) : uid)

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
  return decimalFromHex(Buffer.from(bytes).toString('hex'))
}

/** Colons may stand anywhere. Nearly all UIDs are read by the first look. */
function hexIn(text: string): string {
  const bare = text.includes(':') ? text.replaceAll(':', '') : text
  return HEX.test(bare) || !PAIRS.test(text) ? bare : text.replace(/0x|[^0-9a-f]/gi, '')
}

const decimalFromHex = (hex: string): string => BigInt(`0x${hex}`).toString()

function invalid(reason: string): UidParse {
  return { ok: false, reason }
}
