import { uriFile } from '../../ndef.ts'
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
}

interface TemplateFile {
  /** The URL with zeros in place of what the chip fills in. */
  readonly url: string
  /** NLEN and the message. */
  readonly ndef: Buffer
  readonly settings: FileSettings
}

const noStatus = '0'.repeat(MIRRORED.tamper)

/** Bytes of encrypted data that set-up gives a chip: one block, or what holds the status of its loop. */
export const dataLength = ({ tamperByte = 0 }: Pick<UrlTemplate, 'tamperByte'>): number =>
  BLOCK * Math.ceil((tamperByte + MIRRORED.tamper) / BLOCK)

/** @throws RangeError when the URL is invalid or too long */
export function templateFile({ template, baseUrl, keySet, tamper = false }: ChipUrl): TemplateFile {
  const base = baseUrl.replace(/\/+$/, '')
  if (/[?#]/.test(base)) throw new RangeError('The base URL of chips must have no query and no fragment')
  const slots = slotsOf(template.query)
  if (tamper && !canShowTamper(template))
    throw new RangeError('A URL whose MAC covers no text, or with a parameter t, cannot show a TagTamper')
  const status = slots.includes('tt') || tamper ? noStatus : ''
  const encrypted = '0'.repeat(2 * dataLength(template))
  const values = { ...zeros, enc: encrypted }
  const fill = (parts: readonly Part[]): string => filled(parts, String(keySet), values, status)
  const start = `${template.head || `${base}/t`}?`
  const url = start + fill(template.query)
  const upTo = (slot: Parameters<typeof isSlot>[0]): number | undefined => {
    const at = template.query.findIndex(isSlot(slot))
    return at < 0 ? undefined : start.length + fill(template.query.slice(0, at)).length
  }
  const macAt = upTo('mac') ?? url.length
  const macInputAt = macAt - (template.covered === null ? 0 : fill(template.covered).length)
  const file = uriFile(url)
  // Bytes that the MAC covers have to be in the file, not in the record's prefix code.
  const { bytes, textAt, abbreviated } =
    macInputAt < file.abbreviated ? uriFile(url, { abbreviate: false }) : file
  if (bytes.length > FILE_SIZES[NDEF_FILE])
    throw new RangeError(
      `A chip holds ${FILE_SIZES[NDEF_FILE]} bytes, and this URL takes ${bytes.length}: shorten the base URL`,
    )
  const offset = (at: number): number => textAt + at - abbreviated
  const offsetOf = (slot: Parameters<typeof isSlot>[0]): number | undefined => {
    const at = upTo(slot)
    return at === undefined ? undefined : offset(at)
  }
  const encOffset = offsetOf('enc')
  const inUrl = offsetOf('tt') ?? nameEnd(offsetOf('loop'))
  const inData =
    encOffset === undefined || template.tamperByte === undefined ? undefined : encOffset + template.tamperByte
  return {
    url,
    ndef: bytes,
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
  picc: '0'.repeat(MIRRORED.piccData),
  uid: '0'.repeat(MIRRORED.uid),
  ctr: '0'.repeat(MIRRORED.counter),
  mac: '0'.repeat(MIRRORED.mac),
}

/** The value of `t=` begins behind its name. */
const nameEnd = (offset: number | undefined): number | undefined =>
  offset === undefined ? undefined : offset + 2
