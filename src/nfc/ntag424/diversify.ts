import { AesKey, BLOCK, xorInto } from './cmac.ts'
import { FILE_READ_KEY, type KeyNumber, MASTER_KEY, META_READ_KEY } from './layout.ts'

const TWO_BLOCKS = 2 * BLOCK
const IV_ZERO = Buffer.alloc(BLOCK)

/** @param m the diversification input, 1 to 31 bytes @returns 16 bytes @throws RangeError Source: AN10922 s2.2 */
export function an10922(master: AesKey | Uint8Array, m: Uint8Array): Buffer {
  if (m.length < 1 || m.length > TWO_BLOCKS - 1)
    throw new RangeError(
      `A diversification input has 1 to 31 bytes, not ${m.length}: shorten the key set's systemIdentifier`,
    )
  const key = master instanceof AesKey ? master : new AesKey(master)
  const { k1, k2 } = key.subkeys()
  // AN10922 s2.2.1: 01 ‖ M is always padded to two blocks, unlike a CMAC, which pads to the next block.
  const input = Buffer.alloc(TWO_BLOCKS)
  input[0] = 0x01
  input.set(m, 1)
  const padded = m.length + 1 < TWO_BLOCKS
  if (padded) input[m.length + 1] = 0x80
  xorInto(input, BLOCK, padded ? k2 : k1)
  return key.encryptCbc(IV_ZERO, input).subarray(BLOCK)
}

interface ChipKeyInput {
  /** 7 bytes. */
  readonly uid: Uint8Array
  /** May be empty; at most 22 bytes, so that all of a chip's keys can be derived. */
  readonly systemIdentifier: Uint8Array
  /** Number of times that the chip was personalized again: 0 to 254. */
  readonly generation: number
}

/**
 * The diversification input: UID ‖ systemIdentifier, followed from generation 1 on by one generation byte, so that
 * taps from an earlier personalization stay invalid.
 * @throws RangeError when the UID or the generation is invalid
 */
export function chipKeyInput({ uid, systemIdentifier, generation }: ChipKeyInput): Buffer {
  if (uid.length !== 7) throw new RangeError(`A chip's UID has 7 bytes, not ${uid.length}`)
  keyVersion(generation)
  return Buffer.concat([uid, systemIdentifier, generation > 0 ? Buffer.of(generation) : Buffer.alloc(0)])
}

/**
 * The version byte of a generation's keys: 1 to 255. A factory key has version 0, so it is recognized without trying
 * it. @throws RangeError unless the generation is an integer from 0 to 254
 */
export function keyVersion(generation: number): number {
  if (!Number.isInteger(generation) || generation < 0 || generation > 254)
    throw new RangeError(`A chip's generation is an integer from 0 to 254, not ${generation}`)
  return generation + 1
}

interface KeyPlanInput extends ChipKeyInput {
  readonly applicationMaster: AesKey | Uint8Array
  /** The chip's SDMFileRead key, 16 bytes, derived or shared according to its key set. */
  readonly fileRead: Uint8Array
  /** The key set's shared SDMMetaRead key, 16 bytes. */
  readonly metaRead: Uint8Array
}

export interface PlannedKey {
  readonly keyNo: KeyNumber
  /** 16 bytes. */
  readonly key: Buffer
  /** 1 to 255. */
  readonly version: number
}

/**
 * The five keys of a chip in the order of their numbers: 0 application master, 1 SDMFileRead, 2 SDMMetaRead, 3 and 4
 * reserved. Key 0 has to be written last, since writing it ends the session.
 * @throws RangeError as chipKeyInput and an10922 do
 */
export function planKeys(input: KeyPlanInput): readonly PlannedKey[] {
  const m = chipKeyInput(input)
  const version = keyVersion(input.generation)
  const { applicationMaster } = input
  const master = applicationMaster instanceof AesKey ? applicationMaster : new AesKey(applicationMaster)
  return [
    { keyNo: MASTER_KEY, key: an10922(master, m), version },
    { keyNo: FILE_READ_KEY, key: Buffer.from(input.fileRead), version },
    { keyNo: META_READ_KEY, key: Buffer.from(input.metaRead), version },
    { keyNo: 3, key: an10922(master, Buffer.concat([Buffer.of(0x03), m])), version },
    { keyNo: 4, key: an10922(master, Buffer.concat([Buffer.of(0x04), m])), version },
  ]
}
