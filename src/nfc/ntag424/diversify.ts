import { AesKey, BLOCK, xorInto } from './cmac.ts'
import { FILE_READ_KEY, type KeyNumber, MASTER_KEY, META_READ_KEY } from './layout.ts'

const TWO_BLOCKS = 2 * BLOCK
const IV_ZERO = Buffer.alloc(BLOCK)

/**
 * A key of 16 bytes derived from a master key. @param m the diversification input, 1 to 31 bytes
 * @throws RangeError when m is empty or longer
 * Source: AN10922 s2.2
 */
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

export interface ChipKeyInput {
  /** 7 bytes. */
  readonly uid: Uint8Array
  /** The key set's own, possibly empty; at most 22 bytes for all of a chip's keys to be derived. */
  readonly systemIdentifier: Uint8Array
  /** How many times the chip was personalised again: 0 to 254. */
  readonly generation: number
}

/**
 * What a chip's keys are derived over: UID ‖ systemIdentifier, and after the first personalisation ‖ one
 * generation byte, so that taps of an earlier personalisation do not come back to life.
 * @throws RangeError when the UID has not 7 bytes or the generation is out of range
 */
export function chipKeyInput({ uid, systemIdentifier, generation }: ChipKeyInput): Buffer {
  if (uid.length !== 7) throw new RangeError(`A chip's UID has 7 bytes, not ${uid.length}`)
  keyVersion(generation)
  return Buffer.concat([uid, systemIdentifier, generation > 0 ? Buffer.of(generation) : Buffer.alloc(0)])
}

/**
 * The version byte of every key that a generation puts on a chip: 1 to 255. A factory key has version 0, so it is
 * told apart without trying it. @throws RangeError when the generation is no integer from 0 to 254
 */
export function keyVersion(generation: number): number {
  if (!Number.isInteger(generation) || generation < 0 || generation > 254)
    throw new RangeError(`A chip's generation is an integer from 0 to 254, not ${generation}`)
  return generation + 1
}

export interface KeyPlanInput extends ChipKeyInput {
  readonly applicationMaster: AesKey | Uint8Array
  /** The chip's own SDMFileRead key, 16 bytes, derived or not as its key set says. */
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
 * The five keys of a chip: 0 application master, 1 SDMFileRead, 2 SDMMetaRead, 3 and 4 unused but taken.
 * In the order of the key numbers; key 0 has to be written last, as writing it ends the session.
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
