import { haloParameters } from '../../../nfc/halo/tap.ts'
import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { fileReadKeys } from '../../../nfc/ntag424/diversify.ts'
import type { SdmInput } from '../../../nfc/ntag424/sun.ts'
import { Matcher } from '../../../nfc/ntag424/template/match.ts'
import {
  defaultParameters,
  parseTemplate,
  templateOfShortForm,
  type UrlTemplate,
} from '../../../nfc/ntag424/template/parse.ts'
import { uidToBytes } from '../../../nfc/uid.ts'
import { allKeySets } from '../../store/chips/key-sets.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { KeySetRow } from '../../store/schema/schema.ts'
import { OwnMetaKeys } from './own-meta-keys.ts'

/** Decrypted. Must never leave the daemon. */
export interface KeySet {
  readonly id: number
  readonly metaRead: AesKey
  /** Derives the SDMFileRead key of a chip; undefined if each chip's is listed. */
  readonly fileReadOf: ReturnType<typeof fileReadKeys> | undefined
  readonly diversification: KeySetRow['diversification']
  readonly systemIdentifier: Buffer
  readonly template: UrlTemplate
  /** The mode in which it sets chips up. Taps are verified in both. */
  readonly mode: 'aes' | 'lrp'
}

/** Key sets whose taps have the same parameters. */
interface TapShape {
  readonly matcher: Matcher
  readonly sets: Map<number, KeySet>
}

// Each cached key takes about 1.4 kB.
const maxDerivedKeys = 25_000

// Its parameters are named when a URL fits no key set.
const defaultTemplate = parseTemplate(
  templateOfShortForm({ parameters: defaultParameters, macInputFrom: null }),
)

export interface KeyedChip {
  uid: string
  generation: number
  fileReadKey: Uint8Array | null
}

export const keyContext = (keySet: number, key: 'metaRead' | 'fileRead' | 'appMaster') =>
  `keySets:${keySet}:${key}`
export const chipKeyContext = (uid: string, key: 'fileRead' | 'metaRead' = 'fileRead') =>
  `chips:${uid}:${key}`

/** A version without templates may have created the row. */
export const templateOf = ({ template, tamperAt, ...row }: KeySetRow): UrlTemplate => {
  const { nameOfE: e, nameOfC: c, nameOfD: d, macInputFrom } = row
  return parseTemplate(template ?? templateOfShortForm({ parameters: { e, c, d }, macInputFrom }), tamperAt)
}

export class KeyRing {
  readonly #box: SecretBox
  readonly #order = new LoadOrder()
  readonly #ownMetaKeys: OwnMetaKeys
  #sets = new Map<number, KeySet>()
  #shapes: readonly TapShape[] = []
  #parameterNames: readonly string[] = []
  /** The order of their last valid taps: the newest has the highest number. */
  readonly #uses = new Map<number, number>()
  #taps = 0
  /**
   * Keys of recently tapped chips. Without this cache, a chip's next tap would take 4 % longer, and a replay 13 %.
   */
  readonly #derivedKeys = new Map<string, AesKey>()
  constructor(box: SecretBox) {
    this.#box = box
    this.#ownMetaKeys = new OwnMetaKeys((uid, sealed) => box.open(sealed, chipKeyContext(uid, 'metaRead')))
    this.#arrange()
  }

  async load(db: Queries): Promise<void> {
    const isNewest = this.#order.begin()
    const rows = await allKeySets(db)
    if (!isNewest()) return
    this.#derivedKeys.clear()
    this.#sets = new Map(rows.map((row) => [row.id, this.#open(row)]))
    for (const { id } of rows.sort((a, b) => a.createdAt.localeCompare(b.createdAt)))
      if (!this.#uses.has(id)) this.used(id)
    this.#arrange()
  }

  #arrange(): void {
    const shapes = new Map<string, TapShape>()
    const shapeOf = ({ text, parameters }: UrlTemplate): TapShape => {
      const query = text.slice(text.indexOf('?') + 1).replace('^', '')
      const shape = shapes.get(query) ?? { matcher: new Matcher(parameters), sets: new Map() }
      shapes.set(query, shape)
      return shape
    }
    shapeOf(defaultTemplate)
    for (const set of this.#sets.values()) shapeOf(set.template).sets.set(set.id, set)
    this.#shapes = [...shapes.values()]
    this.#parameterNames = [
      ...new Set([...haloParameters, ...this.#shapes.flatMap(({ matcher }) => matcher.names)]),
    ]
  }

  get(id: number): KeySet | undefined {
    return this.#sets.get(id)
  }

  parameterNames(): readonly string[] {
    return this.#parameterNames
  }

  /** The first one is that of the default parameters, whether a key set has it or not. */
  shapes(): readonly TapShape[] {
    return this.#shapes
  }

  /** A valid tap under the key set: others are tried after it. */
  used(id: number): void {
    this.#uses.set(id, ++this.#taps)
  }

  lastUse(id: number): number {
    return this.#uses.get(id) ?? 0
  }

  /** @returns the SDMFileRead key of the chip; undefined if it was never listed */
  fileReadKey(set: KeySet, chip: KeyedChip): AesKey | undefined {
    if (set.diversification === 'listed')
      return chip.fileReadKey
        ? new AesKey(this.#box.open(chip.fileReadKey, chipKeyContext(chip.uid)))
        : undefined
    return set.fileReadOf && this.#derived(set.id, set.fileReadOf, chip)
  }

  /** The SDMMetaRead key of the chip: its own, if it was listed with one. */
  metaReadKey(set: KeySet, { uid, metaReadKey }: { uid: string; metaReadKey: Uint8Array | null }): AesKey {
    return metaReadKey
      ? new AesKey(this.#box.open(metaReadKey, chipKeyContext(uid, 'metaRead')))
      : set.metaRead
  }

  /** The UID and counter of a tap under a key that its chip alone has. See OwnMetaKeys. */
  ownClaim(db: Queries, e: Buffer): Promise<SdmInput | undefined> {
    return this.#ownMetaKeys.claim(db, e)
  }

  /** A fingerprint that compares keys without storing them. @param key the SDMFileRead key of the chip */
  proofOf(key: AesKey | undefined, uid: string): string | null {
    return key ? key.cmac(Buffer.from(`tapchip proof ${uid}`)).toString('hex') : null
  }

  #derived(
    keySet: number,
    fileReadOf: ReturnType<typeof fileReadKeys>,
    { uid, generation }: KeyedChip,
  ): AesKey {
    const name = `${keySet} ${uid} ${generation}`
    const known = this.#derivedKeys.get(name)
    if (known) return known
    const key = fileReadOf(uidToBytes(uid), generation)
    if (this.#derivedKeys.size >= maxDerivedKeys) this.#derivedKeys.clear()
    this.#derivedKeys.set(name, key)
    return key
  }

  #open(row: KeySetRow): KeySet {
    const { diversification } = row
    const systemIdentifier = Buffer.from(row.systemIdentifier, 'hex')
    return {
      id: row.id,
      metaRead: new AesKey(this.#box.open(row.metaReadKey, keyContext(row.id, 'metaRead'))),
      fileReadOf:
        row.fileReadKey && diversification !== 'listed'
          ? fileReadKeys({
              diversification,
              master: this.#box.open(row.fileReadKey, keyContext(row.id, 'fileRead')),
              systemIdentifier,
            })
          : undefined,
      diversification,
      systemIdentifier,
      template: templateOf(row),
      mode: row.mode ?? 'aes',
    }
  }
}
