import { keyVersion, type PlannedKey } from '../ntag424/diversify.ts'

/**
 * Where the five keys on a chip come from: the factory, or a key set in some generation. Names keys without holding
 * any, so that a plan can be written down.
 */
export type KeySource = 'factory' | KeySetSource

export interface KeySetSource {
  /** As in `d` of the chip's URL. */
  readonly keySet: number
  /** 0 to 254. */
  readonly generation: number
}

/**
 * The keys that a key set has for a chip, as planKeys makes them. @param uid 7 bytes
 * @throws when it cannot have any for it
 */
export type KeysOf = (source: KeySetSource, uid: Buffer) => readonly PlannedKey[]

/** The version byte of every key from there: it tells keys apart without trying one. */
export function sourceVersion(source: KeySource): number {
  return source === 'factory' ? 0 : keyVersion(source.generation)
}

export function sameSource(a: KeySource, b: KeySource): boolean {
  if (a === 'factory' || b === 'factory') return a === b
  return a.keySet === b.keySet && a.generation === b.generation
}

const FACTORY_KEY = Buffer.alloc(16)

/** One key from a source. @throws RangeError when the source does not give all five; what keysOf throws */
export function keyFrom(source: KeySource, keyNo: number, uid: Buffer, keysOf: KeysOf): Buffer {
  if (source === 'factory') return FACTORY_KEY
  const planned = keysOf(source, uid).find((one) => one.keyNo === keyNo)
  if (planned?.version !== sourceVersion(source) || planned.key.length !== 16)
    throw new RangeError(`Key set ${source.keySet} gives no key ${keyNo} of this generation`)
  return planned.key
}
