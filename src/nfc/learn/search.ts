import { AesKey } from '../ntag424/cmac.ts'
import { isWithoutCounter, NXP, type SdmInput, type SdmMode, sunMacOf } from '../ntag424/sun.ts'
import { Matcher, macInput, queryOf, type TapValues } from '../ntag424/template/match.ts'
import { parseTemplate, TemplateError, type UrlTemplate } from '../ntag424/template/parse.ts'
import { claimOf, proveTap } from '../ntag424/template/tap.ts'
import { uidFromBytes, uidToColons } from '../uid.ts'
import {
  type FileReadKey,
  fileReadKeysOf,
  type MetaReadKey,
  metaReadKeys,
  type OwnKey,
} from './derived-keys.ts'
import { templateTexts } from './readings.ts'

/** The closest that a try came. */
export interface Nearest {
  /** Decimal; null: nothing decrypts to one. */
  readonly uid: string | null
  readonly counter: number | null
  /** A sentence. */
  readonly reason: string
}

export interface ProvenTap {
  readonly values: TapValues
  readonly claim: SdmInput
  readonly status: string | undefined
  readonly fileData: Buffer | undefined
}

export interface Found {
  readonly text: string
  readonly meta: MetaReadKey | undefined
  readonly file: FileReadKey
  readonly taps: readonly ProvenTap[]
}

export class Search {
  /** Why the best of the tries failed. */
  nearest: Nearest | undefined
  readonly #own: readonly OwnKey[]
  /** The first is learned from, and the others have to fit. */
  readonly #urls: readonly string[]
  readonly #metaKeys: readonly MetaReadKey[]
  readonly #fileKeys = new Map<string, readonly FileReadKey[]>()
  #closeness = 0

  constructor(own: readonly OwnKey[], urls: readonly string[]) {
    this.#own = own
    this.#urls = urls
    this.#metaKeys = metaReadKeys(own)
  }

  run(): Found | undefined {
    const readings = [...templateTexts(this.#urls[0] ?? '')].flatMap((texts) => this.#read(texts) ?? [])
    // LRP mode is slow, and a plain mirror does not show it.
    return (
      firstOf(readings, (reading) => this.#try(reading, 'aes')) ??
      firstOf(
        readings.filter(({ values }) => values.picc === undefined),
        (reading) => this.#try(reading, 'lrp'),
      )
    )
  }

  #read(texts: readonly string[]): Reading | undefined {
    const templates = texts.flatMap((text) => templateIn(text) ?? [])
    const values = firstOf(templates, ({ parameters }) => {
      const match = new Matcher(parameters).match(queryOf(this.#urls[0] ?? ''))
      return match.ok ? match.values : undefined
    })
    if (!values) return undefined
    if (/^0+$/.test(values.mac))
      this.#note(6, {
        reason:
          'The MAC is all zeros: the chip does not fill it in. Its URL was written, but Secure Dynamic Messaging is off. Set it up first.',
      })
    const inputs = templates.map((template) =>
      macInput(template, values.keySet ?? '', values, values.tt ?? ''),
    )
    return { templates, inputs, values, mac: Buffer.from(values.mac, 'hex') }
  }

  /** @param plainMode the mode of a chip with a plain mirror */
  #try({ templates, inputs, values, mac }: Reading, plainMode: SdmMode): Found | undefined {
    for (const meta of values.picc === undefined ? [undefined] : this.#metaKeys) {
      const claim = claimOf(values, meta?.key ?? unusedKey)
      if (!claim) {
        this.#noteUndecrypted(values, meta)
        continue
      }
      // A wrong key decrypts one URL in 256 to something, and one in 65,536 to a UID of NXP's.
      if (claim.uid[0] !== NXP) {
        if (!meta)
          this.#note(2, {
            ...uidAndCounter(claim),
            reason: `The URL shows the UID ${uidToColons(uidFromBytes(claim.uid))}, and those of all NTAG 424 DNA begin with 04.`,
          })
        continue
      }
      const tap = meta ? claim : { ...claim, mode: plainMode }
      for (const file of this.#fileKeysOf(claim.uid)) {
        const macOf = sunMacOf(file.key, tap)
        for (const [index, template] of templates.entries()) {
          if (!macOf(inputs[index] ?? '').equals(mac)) continue
          const taps = this.#prove({ template, meta, file, keySet: values.keySet })
          if (taps) return { text: template.text, meta, file, taps }
        }
      }
      this.#noteUnproven(claim, meta)
    }
    return undefined
  }

  /** As a verifier does. @returns undefined if one of the URLs does not fit */
  #prove({ template, meta, file, keySet }: Candidate): readonly ProvenTap[] | undefined {
    const matcher = new Matcher(template.parameters)
    const taps: ProvenTap[] = []
    for (const [index, url] of this.#urls.entries()) {
      const which = `URL ${index + 1}`
      const match = matcher.match(queryOf(url))
      if (!match.ok) {
        this.#note(5, {
          reason: `The first URL fits ${template.text}, and ${which} does not: ${match.parameter} ${match.reason}. Learn from chips of one kind at a time.`,
        })
        return undefined
      }
      const { values } = match
      if (values.keySet !== keySet) return undefined
      const claim = claimOf(values, meta?.key ?? unusedKey)
      const fileRead = claim && this.#fileKeysOf(claim.uid).find((one) => isSameWay(one, file))?.key
      const proof = claim && fileRead && proveTap({ template, keySet: keySet ?? '', values, claim, fileRead })
      if (!proof) {
        this.#note(5, {
          ...(claim ? uidAndCounter(claim) : {}),
          reason: `The first URL fits ${template.text} with the derivation ${file.diversification}, and ${which} does not hold under it: are both of chips from one order?${file.diversification === 'none' ? ' If each chip has keys of its own, import them under a key set with the diversification listed.' : ''}`,
        })
        return undefined
      }
      taps.push({ values, claim, ...proof })
    }
    return taps
  }

  #fileKeysOf(uid: Uint8Array): readonly FileReadKey[] {
    const name = Buffer.from(uid).toString('hex')
    const known = this.#fileKeys.get(name) ?? fileReadKeysOf(this.#own, uid)
    this.#fileKeys.set(name, known)
    return known
  }

  #note(
    closeness: number,
    { uid = null, counter = null, reason }: Partial<Nearest> & Pick<Nearest, 'reason'>,
  ): void {
    if (closeness <= this.#closeness) return
    this.#closeness = closeness
    this.nearest = { uid, counter, reason }
  }

  #noteUnproven(claim: SdmInput, meta: MetaReadKey | undefined): void {
    const { uid, counter } = uidAndCounter(claim)
    const told = meta ? `The URL decrypts with ${meta.name} to` : 'The URL shows'
    this.#note(4, {
      uid,
      counter,
      reason: `${told} the UID ${uidToColons(uid)} and the counter ${counter}, but its MAC does not hold with ${keysTried(this.#own.length)} under any derivation that is known here. The SDMFileRead key is missing, or the URL was changed.`,
    })
  }

  #noteUndecrypted({ picc = '' }: TapValues, meta: MetaReadKey | undefined): void {
    const e = Buffer.from(picc, 'hex')
    if (meta && isWithoutCounter(meta.key, e))
      this.#note(4, {
        uid: uidFromBytes(meta.key.decryptBlock(e).subarray(1, 8)),
        reason: `The URL decrypts with ${meta.name} to a UID without a counter. A copy of such a URL cannot be told from the chip, so Tapchip does not take its taps. Set the chip up again, with the counter mirrored.`,
      })
    this.#note(1, {
      reason: `The PICC data does not decrypt to a UID with ${keysTried(this.#own.length)}, nor with those that bolt cards and sdm-backend derive. The SDMMetaRead key is missing.`,
    })
  }
}

interface Reading {
  readonly templates: readonly UrlTemplate[]
  /** What the MAC covers under each template. */
  readonly inputs: readonly string[]
  readonly values: TapValues
  readonly mac: Buffer
}

interface Candidate {
  readonly template: UrlTemplate
  readonly meta: MetaReadKey | undefined
  readonly file: FileReadKey
  /** The number in the first URL. */
  readonly keySet: string | undefined
}

function firstOf<T, R>(all: readonly T[], choose: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const found = choose(one)
    if (found !== undefined) return found
  }
  return undefined
}

const isSameWay = (a: FileReadKey, b: FileReadKey): boolean =>
  a.own === b.own && a.diversification === b.diversification && a.systemIdentifier === b.systemIdentifier

/** A plain mirror is not decrypted. */
const unusedKey = new AesKey(Buffer.alloc(16))
const keysTried = (count: number): string =>
  count === 1 ? 'the one key that was tried' : `any of the ${count} keys`
const uidAndCounter = ({ uid, counter }: SdmInput) => ({ uid: uidFromBytes(uid), counter })

function templateIn(text: string): UrlTemplate | undefined {
  try {
    return parseTemplate(text)
  } catch (error) {
    if (error instanceof TemplateError) return undefined
    throw error
  }
}
