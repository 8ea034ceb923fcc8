// The NDEF file of a Type 4 tag: two bytes of length (NLEN), then the message's records.
// Source: NFC Forum NDEF 1.0, URI RTD 1.0.

export interface NdefRecord {
  /** Type name format: 1 is a well-known type. */
  readonly tnf: number
  /** `U` for a URI, `T` for a text. */
  readonly type: string
  readonly payload: Buffer
}

export class NdefFormatError extends Error {
  constructor(reason: string) {
    super(`The NDEF message on the tag cannot be read: ${reason}`)
    this.name = new.target.name
  }
}

const FIRST = 0x80
const SHORT = 0x10
const WITH_ID = 0x08
const CHUNKED = 0x20
const LAST = 0x40
const WELL_KNOWN = 1
const EXTERNAL = 4
const UNCHANGED = 6
/** Bits of a text record's first byte. */
const UTF_16 = 0x80
const LANGUAGE_LENGTH = 0x3f

// Source: URI RTD 1.0 table 3. The index is the code.
// biome-ignore format: a table
const URI_PREFIXES = [
  '', 'http://www.', 'https://www.', 'http://', 'https://', 'tel:', 'mailto:', 'ftp://anonymous:anonymous@',
  'ftp://ftp.', 'ftps://', 'sftp://', 'smb://', 'nfs://', 'ftp://', 'dav://', 'news:', 'telnet://', 'imap:',
  'rtsp://', 'urn:', 'pop:', 'sip:', 'sips:', 'tftp:', 'btspp://', 'btl2cap://', 'btgoep://', 'tcpobex://',
  'irdaobex://', 'file://', 'urn:epc:id:', 'urn:epc:tag:', 'urn:epc:pat:', 'urn:epc:raw:', 'urn:epc:', 'urn:nfc:',
] as const

/** Joins chunked records. @param message without NLEN; may be empty @throws NdefFormatError */
export function parseNdef(message: Uint8Array): NdefRecord[] {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length)
  const records: NdefRecord[] = []
  let open: { tnf: number; type: string; parts: Buffer[] } | undefined
  for (let at = 0; at < bytes.length; ) {
    const { flags, type, payload, end } = recordAt(bytes, at)
    at = end
    const tnf = flags & 0x07
    if ((tnf === UNCHANGED) !== (open !== undefined)) throw new NdefFormatError('its chunks are out of order')
    open ??= { tnf, type, parts: [] }
    open.parts.push(payload)
    if (!(flags & CHUNKED)) {
      records.push({ tnf: open.tnf, type: open.type, payload: Buffer.concat(open.parts) })
      open = undefined
    }
    if (flags & LAST) break
  }
  if (open) throw new NdefFormatError('its last chunk is missing')
  return records
}

const isUri = ({ tnf, type }: NdefRecord): boolean => tnf === WELL_KNOWN && type === 'U'

/** All records but the first URI, and smart posters, which have a URL of their own. */
export const besideUri = (records: readonly NdefRecord[]): NdefRecord[] =>
  records.filter(
    (record) => record !== records.find(isUri) && !(record.tnf === WELL_KNOWN && record.type === 'Sp'),
  )

/** The first URI among the records, with its prefix. */
export function uriIn(records: readonly NdefRecord[]): string | undefined {
  const record = records.find(isUri)
  if (!record) return undefined
  const prefix = URI_PREFIXES[record.payload[0] ?? 0] ?? ''
  return prefix + record.payload.toString('utf8', 1)
}

/** The texts among the records that are in UTF-8, without their languages. Source: Text RTD 1.0 s3.2.1 */
export function textsIn(records: readonly NdefRecord[]): string[] {
  return records.flatMap(({ tnf, type, payload }) => {
    const [status = UTF_16] = payload
    if (tnf !== WELL_KNOWN || type !== 'T' || status & UTF_16) return []
    return [payload.toString('utf8', 1 + (status & LANGUAGE_LENGTH))]
  })
}

/** What opens on Android when the tag is read, whatever app wants its URL. */
export const androidApplication = (packageName: string): NdefRecord => ({
  tnf: EXTERNAL,
  type: 'android.com:pkg',
  payload: Buffer.from(packageName),
})

/** English, in UTF-8. Source: Text RTD 1.0 s3.2.1 */
export const textRecord = (text: string): NdefRecord => ({
  tnf: WELL_KNOWN,
  type: 'T',
  payload: Buffer.from(`\x02en${text}`),
})

/** The inverse of parseNdef. @param records with types of at most 255 characters */
export function encodeNdef(records: readonly NdefRecord[]): Buffer {
  const encoded = records.map(({ tnf, type, payload }, at) => {
    const short = payload.length <= 0xff
    const length = Buffer.alloc(short ? 1 : 4)
    length.writeUIntBE(payload.length, 0, length.length)
    const place = (at === 0 ? FIRST : 0) | (at === records.length - 1 ? LAST : 0)
    const head = Buffer.of(place | (short ? SHORT : 0) | tnf, type.length)
    return Buffer.concat([head, length, Buffer.from(type, 'latin1'), payload])
  })
  return Buffer.concat(encoded)
}

interface UriFile {
  /** NLEN and a message that begins with a URI record. */
  readonly bytes: Buffer
  /** Offset of the URI's text, which begins after the abbreviated prefix. */
  readonly textAt: number
  /** Length of the abbreviated prefix in characters. */
  readonly abbreviated: number
}

/**
 * @param uri printable ASCII, since offsets into it are counted in bytes
 * @param options.abbreviate false: with no prefix code, so that the file has the whole URL as text
 * @param options.others records behind that of the URI
 * @throws RangeError
 */
export function uriFile(
  uri: string,
  { abbreviate = true, others = [] }: { abbreviate?: boolean; others?: readonly NdefRecord[] } = {},
): UriFile {
  if (!/^[\x21-\x7e]+$/.test(uri)) throw new RangeError('The URL of a tag must be printable ASCII')
  // Take the longest match: https://www. also begins with https://.
  const code = URI_PREFIXES.reduce(
    (best, prefix, i) =>
      abbreviate && uri.startsWith(prefix) && prefix.length > (URI_PREFIXES[best]?.length ?? 0) ? i : best,
    0,
  )
  const abbreviated = URI_PREFIXES[code]?.length ?? 0
  const payload = Buffer.concat([Buffer.of(code), Buffer.from(uri.slice(abbreviated), 'ascii')])
  const record: NdefRecord = { tnf: WELL_KNOWN, type: 'U', payload }
  const message = encodeNdef([record, ...others])
  const nlen = Buffer.alloc(2)
  nlen.writeUInt16BE(message.length)
  const textAt = nlen.length + encodeNdef([record]).length - payload.length + 1
  return { bytes: Buffer.concat([nlen, message]), textAt, abbreviated }
}

function recordAt(bytes: Buffer, start: number) {
  let at = start
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new NdefFormatError('a record is longer than the message')
    at += length
    return bytes.subarray(at - length, at)
  }
  const [flags = 0, typeLength = 0] = take(2)
  const length = flags & SHORT ? take(1).readUInt8() : take(4).readUInt32BE()
  const idLength = flags & WITH_ID ? take(1).readUInt8() : 0
  const type = take(typeLength).toString('latin1')
  take(idLength)
  const payload = take(length)
  return { flags, type, payload, end: at }
}
