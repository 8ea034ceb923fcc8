import { type NdefRecord, uriFile } from '../../ndef.ts'
import { BLOCK } from '../cmac.ts'
import { type FileSettings, MIRRORED } from '../file-settings.ts'
import { FILE_READ_KEY, FILE_SIZES, MASTER_KEY, META_READ_KEY, NDEF_FILE } from '../layout.ts'
import { filled, type TapValues } from './match.ts'
import { canShowTamper, isSlot, type Part, slotsOf, type UrlTemplate } from './parse.ts'

export interface ChipUrl {
  readonly template: UrlTemplate
  /** The daemon's address for phones; `/t?…` follows, unless the template has an address of its own. */
  readonly baseUrl: string
  /** The value of {keySet}. */
  readonly keySet: number
  /** The chip is a TagTamper, and shows the status of its loop. */
  readonly tamper?: boolean | undefined
  /** The text behind {enc}, padded with blanks. Default: zeros. */
  readonly fileData?: string | undefined
  /** Records behind that of the URL. */
  readonly records?: readonly NdefRecord[] | undefined
  /** The chip is in LRP mode, in which {picc} is longer. */
  readonly lrp?: boolean | undefined
}

interface TemplateFile {
  /** The URL with zeros in place of what the chip fills in. */
  readonly url: string
  /** NLEN and the message. */
  readonly ndef: Buffer
  readonly settings: FileSettings
  /** What a tap shows encrypted, with zeros in place of a TagTamper's status. */
  readonly fileData: Buffer | undefined
}

/** The URL that chips show, with placeholders for what differs from tap to tap. */
export function urlPattern({
  template,
  baseUrl,
  keySet,
}: Omit<ChipUrl, 'tamper' | 'lrp' | 'fileData' | 'records'>): string {
  const query = template.query.map((part) => {
    if (typeof part === 'string') return part
    if (part.slot === 'keySet') return String(keySet)
    return part.slot === 'loop' ? '' : `{${part.slot}}`
  })
  return `${addressOf(template, baseUrl)}?${query.join('')}`
}

/** Everything before the `?`. */
const addressOf = ({ head }: UrlTemplate, baseUrl: string): string =>
  head || `${baseUrl.replace(/\/+$/, '')}/t`

/** Characters of {picc}. */
export const piccLength = (lrp: boolean): number => (lrp ? MIRRORED.lrpPiccData : MIRRORED.piccData)

const noStatus = '0'.repeat(MIRRORED.tamper)

/** What set-up puts behind {enc}, in whole blocks: a text, or zeros with room for the status of a loop. */
export function dataFor({ tamperByte }: Pick<UrlTemplate, 'tamperByte'>, text?: string): Buffer {
  const used = Math.max(
    Buffer.byteLength(text ?? ''),
    tamperByte === undefined ? 1 : tamperByte + MIRRORED.tamper,
  )
  const data = Buffer.alloc(BLOCK * Math.ceil(used / BLOCK), text === undefined ? '0' : ' ')
  data.write(text ?? '')
  if (tamperByte !== undefined) data.write(noStatus, tamperByte)
  return data
}

/** @throws RangeError when the URL is invalid or too long */
export function templateFile({
  template,
  baseUrl,
  keySet,
  tamper = false,
  lrp = false,
  fileData,
  records = [],
}: ChipUrl): TemplateFile {
  if (/[?#]/.test(baseUrl)) throw new RangeError('The base URL of chips must have no query and no fragment')
  const slots = slotsOf(template.query)
  if (tamper && !canShowTamper(template))
    throw new RangeError('A URL whose MAC covers no text, or with a parameter t, cannot show a TagTamper')
  const status = slots.includes('tt') || tamper ? noStatus : ''
  if (fileData !== undefined && !slots.includes('enc'))
    throw new RangeError('A template without {enc} has no place for encrypted data')
  const data = slots.includes('enc') ? dataFor(template, fileData) : undefined
  const encrypted = '0'.repeat(2 * (data?.length ?? 0))
  const values = { ...zeros, picc: '0'.repeat(piccLength(lrp)), enc: encrypted }
  const fill = (parts: readonly Part[]): string => filled(parts, String(keySet), values, status)
  const start = `${addressOf(template, baseUrl)}?`
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(start))
    throw new RangeError(
      `The template begins with ${start} without a scheme such as https://, so no phone would open it`,
    )
  const url = start + fill(template.query)
  const upTo = (slot: Parameters<typeof isSlot>[0]): number | undefined => {
    const at = template.query.findIndex(isSlot(slot))
    return at < 0 ? undefined : start.length + fill(template.query.slice(0, at)).length
  }
  const macAt = upTo('mac') ?? url.length
  const macInputAt = macAt - (template.covered === null ? 0 : fill(template.covered).length)
  const file = uriFile(url, { others: records })
  // Bytes that the MAC covers have to be in the file, not in the record's prefix code.
  const { bytes, textAt, abbreviated } =
    macInputAt < file.abbreviated ? uriFile(url, { abbreviate: false, others: records }) : file
  if (bytes.length > FILE_SIZES[NDEF_FILE]) {
    const also = [
      ...(fileData === undefined ? [] : ['its encrypted data']),
      ...(records.length === 0 ? [] : ['the text or the app behind it']),
    ]
    const parts = [template.head ? 'the template' : 'the base URL', ...also].join(' or ')
    throw new RangeError(
      `A chip holds ${FILE_SIZES[NDEF_FILE]} bytes, and this URL${records.length === 0 ? '' : ', with what stands behind it,'} takes ${bytes.length}: shorten ${parts}`,
    )
  }
  const offset = (at: number): number => textAt + at - abbreviated
  const offsetOf = (slot: Parameters<typeof isSlot>[0]): number | undefined => {
    const at = upTo(slot)
    return at === undefined ? undefined : offset(at)
  }
  const encOffset = offsetOf('enc')
  // The chip encrypts the first half, since hex doubles its length.
  if (encOffset !== undefined) data?.copy(bytes, encOffset)
  const inUrl = offsetOf('tt') ?? nameEnd(offsetOf('loop'))
  const inData =
    encOffset === undefined || template.tamperByte === undefined ? undefined : encOffset + template.tamperByte
  return {
    url,
    ndef: bytes,
    fileData: data,
    settings: {
      mode: 'plain',
      access: { read: 'free', write: MASTER_KEY, readWrite: MASTER_KEY, change: MASTER_KEY },
      sdm: {
        uid: true,
        counter: true,
        metaRead: slots.includes('picc') ? META_READ_KEY : 'free',
        fileRead: FILE_READ_KEY,
        counterRead: FILE_READ_KEY,
        uidOffset: offsetOf('uid'),
        counterOffset: offsetOf('ctr'),
        piccDataOffset: offsetOf('picc'),
        tamperOffset: tamper ? (inUrl ?? inData) : undefined,
        encrypted: encOffset === undefined ? undefined : { offset: encOffset, length: encrypted.length },
        macInputOffset: offset(macInputAt),
        macOffset: offset(macAt),
      },
    },
  }
}

const zeros: TapValues = {
  uid: '0'.repeat(MIRRORED.uid),
  ctr: '0'.repeat(MIRRORED.counter),
  mac: '0'.repeat(MIRRORED.mac),
}

/** The value of `t=` begins behind its name. */
const nameEnd = (offset: number | undefined): number | undefined =>
  offset === undefined ? undefined : offset + 2
