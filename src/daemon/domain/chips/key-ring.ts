import { haloParameters } from '../../../nfc/halo/tap.ts'
import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { fileReadKeys } from '../../../nfc/ntag424/diversify.ts'
import { uidToBytes } from '../../../nfc/uid.ts'
import { allKeySets } from '../../store/chips/key-sets.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { KeySetRow } from '../../store/schema/schema.ts'

/** Decrypted. Must never leave the daemon. */
export interface KeySet {
  readonly id: number
  readonly metaRead: AesKey
  /** Derives the SDMFileRead key of a chip; undefined if each chip's is listed. */
  readonly fileReadOf: ReturnType<typeof fileReadKeys> | undefined
  readonly diversification: KeySetRow['diversification']
  readonly systemIdentifier: Buffer
  readonly macInputFrom: KeySetRow['macInputFrom']
  readonly names: { readonly e: string; readonly c: string; readonly d: string }
}

const namesIn = (templates: readonly KeySet['names'][]): string[] => [
  ...new Set([...haloParameters, ...templates.flatMap(({ e, c, d }) => [e, c, d])]),
]

// Each cached key takes about 1.4 kB.
const maxDerivedKeys = 25_000

export const defaultParameters: KeySet['names'] = { e: 'e', c: 'c', d: 'd' }

export interface KeyedChip {
  uid: string
  generation: number
  fileReadKey: Uint8Array | null
}

export const keyContext = (keySet: number, key: 'metaRead' | 'fileRead' | 'appMaster') =>
  `keySets:${keySet}:${key}`
export const chipKeyContext = (uid: string) => `chips:${uid}:fileRead`

export class KeyRing {
  readonly #box: SecretBox
  readonly #order = new LoadOrder()
  #sets = new Map<number, KeySet>()
  #templates: readonly KeySet['names'][] = [defaultParameters]
  #parameterNames = namesIn([defaultParameters])
  /**
   * Keys of recently tapped chips. Without this cache, a chip's next tap would take 4 % longer, and a replay 13 %.
   */
  readonly #derivedKeys = new Map<string, AesKey>()
  constructor(box: SecretBox) {
    this.#box = box
  }

  async load(db: Queries): Promise<void> {
    const isNewest = this.#order.begin()
    const rows = await allKeySets(db)
    if (!isNewest()) return
    this.#derivedKeys.clear()
    this.#sets = new Map(rows.map((row) => [row.id, this.#open(row)]))
    const distinct = new Map(
      [defaultParameters, ...[...this.#sets.values()].map((set) => set.names)].map((names) => [
        `${names.d} ${names.e} ${names.c}`,
        names,
      ]),
    )
    this.#templates = [...distinct.values()]
    this.#parameterNames = namesIn(this.#templates)
  }

  get(id: number): KeySet | undefined {
    return this.#sets.get(id)
  }

  /** @returns undefined unless there is exactly one key set, which then applies to taps that name none */
  only(): KeySet | undefined {
    if (this.#sets.size !== 1) return undefined
    for (const set of this.#sets.values()) return set
    return undefined
  }

  parameterNames(): readonly string[] {
    return this.#parameterNames
  }

  templates(): readonly KeySet['names'][] {
    return this.#templates
  }

  /** @returns the SDMFileRead key of the chip; undefined if it was never listed */
  fileReadKey(set: KeySet, chip: KeyedChip): AesKey | undefined {
    if (set.diversification === 'listed')
      return chip.fileReadKey
        ? new AesKey(this.#box.open(chip.fileReadKey, chipKeyContext(chip.uid)))
        : undefined
    return set.fileReadOf && this.#derived(set.id, set.fileReadOf, chip)
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
      macInputFrom: row.macInputFrom,
      names: { e: row.nameOfE, c: row.nameOfC, d: row.nameOfD },
    }
  }
}
