import { uriFile } from '../ndef.ts'
import { type FileSettings, MIRRORED } from './file-settings.ts'
import { FILE_READ_KEY, FILE_SIZES, MASTER_KEY, META_READ_KEY, NDEF_FILE } from './layout.ts'
import { type MacInputTemplate, TAMPER_PARAMETER } from './sun.ts'

// The URL that a chip shows, in which it fills in e and c at each tap: {base_url}/t?d=…&e=…&c=…, and the status of
// its loop if it is a TagTamper: {base_url}/t?d=…&e=…&t=CC&c=…

export interface UrlTemplate extends MacInputTemplate {
  /** The daemon's address for phones; `/t?…` follows. */
  readonly baseUrl: string
  /** The value of `d`: the number of the key set. */
  readonly d: string
  /** The chip is a TagTamper, and shows the status of its loop. */
  readonly tamper?: true | undefined
}

interface TemplateFile {
  /** The URL with zeros in place of e, t, and c. */
  readonly url: string
  /** NLEN and the message. */
  readonly ndef: Buffer
  readonly settings: FileSettings
}

/**
 * True if the status of a TagTamper can be shown under the MAC: a status that anyone could change would say nothing.
 */
export const canShowTamper = ({ names, from }: Pick<UrlTemplate, 'names' | 'from'>): boolean =>
  from !== null && !Object.values(names).includes(TAMPER_PARAMETER)

/**
 * `d` comes before `c`, so that the MAC can cover it. @throws RangeError when the URL is invalid or too long
 */
export function templateFile({ baseUrl, d, names, from, tamper }: UrlTemplate): TemplateFile {
  const base = baseUrl.replace(/\/+$/, '')
  if (/[?#]/.test(base)) throw new RangeError('The base URL of chips must have no query and no fragment')
  if (!/^[\w.~-]+$/.test(d + names.d + names.e + names.c))
    throw new RangeError('Parameter names and the value of d must be letters, digits, and - . _ ~')
  if (tamper && !canShowTamper({ names, from }))
    throw new RangeError('A URL whose MAC covers no text, or with a parameter t, cannot show a TagTamper')
  const start = `${base}/t?`
  const beforeE = `${start}${names.d}=${d}&`
  const beforeT = `${beforeE}${names.e}=${'0'.repeat(MIRRORED.piccData)}&${TAMPER_PARAMETER}=`
  const status = tamper ? `${TAMPER_PARAMETER}=${'0'.repeat(MIRRORED.tamper)}&` : ''
  const beforeC = `${beforeE}${names.e}=${'0'.repeat(MIRRORED.piccData)}&${status}${names.c}=`
  const url = `${beforeC}${'0'.repeat(MIRRORED.mac)}`
  const { bytes, textAt, abbreviated } = uriFile(url)
  if (bytes.length > FILE_SIZES[NDEF_FILE])
    throw new RangeError(
      `A chip holds ${FILE_SIZES[NDEF_FILE]} bytes, and this URL takes ${bytes.length}: shorten the base URL`,
    )
  const offset = (text: string): number => textAt + text.length - abbreviated
  const macOffset = offset(beforeC)
  const macInput = { d: offset(start), e: offset(beforeE), none: macOffset }[from ?? 'none']
  return {
    url,
    ndef: bytes,
    settings: {
      mode: 'plain',
      access: { read: 'free', write: MASTER_KEY, readWrite: MASTER_KEY, change: MASTER_KEY },
      sdm: {
        uid: true,
        counter: true,
        metaRead: META_READ_KEY,
        fileRead: FILE_READ_KEY,
        counterRead: FILE_READ_KEY,
        piccDataOffset: offset(`${beforeE}${names.e}=`),
        ...(tamper ? { tamperOffset: offset(beforeT) } : {}),
        macInputOffset: macInput,
        macOffset,
      },
    },
  }
}

interface TapParameters {
  readonly e: string
  readonly c: string
  readonly d: string | undefined
  /** The status of a TagTamper's loop; undefined also where a key set uses the name for something else. */
  readonly t: string | undefined
}

/** @returns undefined when e or c is missing */
export function tapIn(url: string, names: UrlTemplate['names']): TapParameters | undefined {
  const query = new URLSearchParams(url.split('#', 1)[0]?.split('?').slice(1).join('?') ?? '')
  const [e, c] = [query.get(names.e), query.get(names.c)]
  if (e === null || c === null) return undefined
  const t = Object.values(names).includes(TAMPER_PARAMETER) ? null : query.get(TAMPER_PARAMETER)
  return { e, c, d: query.get(names.d) ?? undefined, t: t ?? undefined }
}
