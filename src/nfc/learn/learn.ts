import { createHash, randomBytes } from 'node:crypto'
import type { Diversification } from '../../values/diversifications.ts'
import { haloUrlParameters } from '../halo/tap.ts'
import { isZero } from '../ntag424/diversify.ts'
import { isLoopStatus, shownData, type TamperStatus, tamperStatus } from '../ntag424/template/tap.ts'
import { readTapUrl, whyNoValues } from '../tap-url.ts'
import { uidFromBytes } from '../uid.ts'
import type { OwnKey } from './derived-keys.ts'
import { type Found, type Nearest, type ProvenTap, Search } from './search.ts'

// Finds out how the chips of others speak, from taps and the keys that the operator has: it tries what their URL admits
// with what a verifier does. Bounded by the length of a URL, sixteen readings, 64 keys, and seven derivations: some
// seconds at worst.

/** As `key-sets create --file` takes it. */
export interface LearnedKeySet {
  readonly id: number
  readonly metaReadKey: string
  readonly fileReadKey: string
  readonly diversification: Diversification
  readonly systemIdentifier?: string
  readonly template: string
  readonly tamper?: string
}

export interface LearnedTap {
  /** Decimal. */
  readonly uid: string
  readonly counter: number
  readonly tamper: TamperStatus
  /** Text, or hex with `0x`. */
  readonly fileData: string | null
}

export type Learned =
  | {
      readonly found: true
      readonly keySet: LearnedKeySet
      /** Names of the keys; null: the mirror is not encrypted. */
      readonly names: { readonly metaRead: string | null; readonly fileRead: string }
      readonly taps: readonly LearnedTap[]
      readonly warnings: readonly string[]
    }
  | { readonly found: false; readonly nearest: Nearest; readonly warnings: readonly string[] }

interface Input {
  /** At least one. */
  readonly urls: readonly string[]
  readonly keys: readonly OwnKey[]
  /** The number of the key set, if the URL does not say it. */
  readonly id?: number | undefined
}

const factoryKey: OwnKey = { bytes: Buffer.alloc(16), name: "the factory's zero key" }

const isOfHalo =
  'This is the URL of a HaLo chip, which signs with its own key and needs no key set. Register it with its publicKey: tapchip chips import'

export function learn({ urls, keys, id }: Input): Learned {
  const warnings: string[] = []
  const texts: string[] = []
  for (const url of urls) {
    const read = readTapUrl(url)
    if ('problem' in read) return notFound({ reason: read.problem }, warnings)
    if (haloUrlParameters(read.text)) return notFound({ reason: isOfHalo }, warnings)
    texts.push(read.text)
    warnings.push(...read.warnings.filter((warning) => !warnings.includes(warning)))
  }
  const own = [...keys.filter(({ bytes }) => !isZero(bytes)), factoryKey]
  const search = new Search(own, texts)
  const match = search.run()
  if (!match) return notFound(search.nearest ?? { reason: whyNoValues(texts[0] ?? '') }, warnings)
  const { text, meta, file, taps } = match
  const { diversification, systemIdentifier } = file
  const number = taps[0]?.values.keySet
  if (number !== undefined && id !== undefined && id !== Number(number))
    warnings.push(`The number of the key set is ${number}, which the URL shows, and not ${id}.`)
  const tamperAt = tamperIn(taps)
  const fields = {
    fileReadKey: file.own.bytes.toString('hex'),
    diversification,
    ...(systemIdentifier === '' ? {} : { systemIdentifier }),
    template: text,
    ...(tamperAt === undefined ? {} : { tamper: `enc:${tamperAt}` }),
  }
  return {
    found: true,
    keySet: {
      id: number === undefined ? (id ?? inventedId(JSON.stringify(fields))) : Number(number),
      // A key set needs one. For a plain mirror, which has none, it is a fresh one.
      metaReadKey: (meta?.bytes ?? randomBytes(16)).toString('hex'),
      ...fields,
    },
    names: { metaRead: meta?.name ?? null, fileRead: file.own.name },
    taps: taps.map((tap) => learnedTap(tap, tamperAt)),
    warnings: [...warnings, ...warningsOf(match, texts, tamperAt)],
  }
}

const notFound = (
  { uid = null, counter = null, reason }: Partial<Nearest> & Pick<Nearest, 'reason'>,
  warnings: readonly string[],
): Learned => ({ found: false, nearest: { uid, counter, reason }, warnings })

/** The same for the same chips, and unlikely to be taken: a daemon may have several key sets that were learned. */
const inventedId = (fields: string): number =>
  1000 + (createHash('sha256').update(fields).digest().readUInt32BE(0) % 9000)

/** In a TagTamper's encrypted data; its place is not said anywhere. @returns its offset */
function tamperIn(taps: readonly ProvenTap[]): number | undefined {
  const texts = taps.flatMap(({ fileData }) => fileData?.toString('latin1') ?? [])
  const [first = ''] = texts
  if (texts.length < taps.length) return undefined
  return [...first.matchAll(maybeStatus)]
    .map(({ index }) => index)
    .find((at) => texts.every((text) => isStatusAt(text, at)))
}

/** At the beginning, or between other characters than letters and digits. */
const maybeStatus = /^(?:CC|OO)|(?<![A-Za-z0-9])[COI]{2}(?![A-Za-z0-9])/g
const isStatusAt = (text: string, at: number): boolean => isLoopStatus(text.slice(at, at + 2))

function learnedTap({ claim, status, fileData }: ProvenTap, tamperAt: number | undefined): LearnedTap {
  const shown = tamperAt === undefined ? status : fileData?.toString('latin1', tamperAt, tamperAt + 2)
  return {
    uid: uidFromBytes(claim.uid),
    counter: claim.counter,
    tamper: tamperStatus(shown),
    fileData: fileData ? shownData(fileData) : null,
  }
}

function warningsOf(
  { meta, file, text }: Found,
  urls: readonly string[],
  tamperAt: number | undefined,
): string[] {
  const warnings: string[] = []
  if (isZero(file.own.bytes))
    warnings.push(
      "Anyone can forge these taps: the chips have the factory's zero keys, which are public. Give the chips keys of your own: tapchip nfc provision --rekey",
    )
  else if (meta && isZero(meta.bytes))
    warnings.push(
      "Anyone can read the UID and the counter in these URLs: the SDMMetaRead key is the factory's zero key. Taps cannot be forged with it.",
    )
  if (tamperAt !== undefined)
    warnings.push(
      `The data at byte ${tamperAt} looks like a TagTamper's status, so the key set reads it as one. If it is not, remove "tamper" from the key set.`,
    )
  const [, , status] = /[?&]([^=&]+)=([COI]{2})(?=&|$)/.exec(urls[0] ?? '') ?? []
  if (status !== undefined && !text.includes('{tt}') && !text.includes(`=${status}`))
    warnings.push(
      `The status ${status} in the URL is not read: the MAC does not cover it, so anyone could change it.`,
    )
  const constant = constantsIn(text)
  if (constant !== '')
    warnings.push(`The MAC covers ${constant}, so the key set is for chips that show exactly this.`)
  return warnings
}

/** Covered by the MAC, and the same in all taps. */
function constantsIn(text: string): string {
  const covered = text.split('^')[1] ?? ''
  return covered
    .slice(covered.indexOf('?') + 1)
    .split('&')
    .filter((parameter) => parameter.includes('=') && !parameter.includes('{'))
    .join('&')
}
