import { createHmac, pbkdf2Sync } from 'node:crypto'
import type { Diversification } from '../../values/diversifications.ts'
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

/** The card keys of a bolt card. Source: boltcard/boltcard docs/DETERMINISTIC.md */
const BOLT = {
  card: Buffer.from('2d003f75', 'hex'),
  metaRead: Buffer.from('2d003f77', 'hex'),
  fileRead: Buffer.from('2d003f78', 'hex'),
}

/** K1 of all bolt cards of an issuer, which decrypts `p`. @param issuer 16 bytes */
export const boltcardMetaRead = (issuer: Uint8Array): Buffer => new AesKey(issuer).cmac(BOLT.metaRead)

/** K2 of a bolt card, which makes `c`. @param version counts how often the issuer set the card up again */
export function boltcardFileRead(issuer: AesKey, uid: Uint8Array, version: number): Buffer {
  const fourBytes = Buffer.alloc(4)
  fourBytes.writeUInt32LE(version)
  return new AesKey(issuer.cmac(Buffer.concat([BOLT.card, uid, fourBytes]))).cmac(BOLT.fileRead)
}

const sha256 = (key: Uint8Array, message: Uint8Array): Buffer =>
  createHmac('sha256', key).update(message).digest()
export const isZero = (key: Uint8Array): boolean => key.every((byte) => byte === 0)

/** Key 1 of all chips, which decrypts the PICCData. Source: nfc-developer/sdm-backend libsdm/derive.py */
export const sdmBackendMetaRead = (master: Uint8Array): Buffer =>
  isZero(master) ? Buffer.alloc(BLOCK) : sha256(master, Buffer.from('PICCDataKey')).subarray(0, BLOCK)

/** @param keyNo 2 makes the MAC */
export function sdmBackendTagKey(master: Uint8Array, uid: Uint8Array, keyNo: number): Buffer {
  if (isZero(master)) return Buffer.alloc(BLOCK)
  const slot = sha256(master, Buffer.concat([Buffer.from('SlotMasterKey'), Buffer.of(keyNo)]))
  const ofUid = sha256(sha256(master, Buffer.from('DivBaseKey')), uid).subarray(0, BLOCK)
  return new AesKey(slot.subarray(0, BLOCK)).cmac(Buffer.concat([Buffer.of(0x01), ofUid]))
}

// Before 2023-01-24, and still sdm-backend's default. Source: libsdm/legacy_derive.py
const legacy = (master: Uint8Array, salt: Uint8Array): Buffer =>
  isZero(master) ? Buffer.alloc(BLOCK) : pbkdf2Sync(master, salt, 5000, BLOCK, 'sha512')

export const sdmBackendLegacyMetaRead = (master: Uint8Array): Buffer =>
  legacy(master, Buffer.concat([Buffer.from('key_no_uid'), Buffer.of(1)]))

export const sdmBackendLegacyTagKey = (master: Uint8Array, uid: Uint8Array, keyNo: number): Buffer =>
  legacy(master, Buffer.concat([Buffer.from('key'), uid, Buffer.of(keyNo)]))

/** sdm-backend counts the application master as key 0, and its MACs come from key 2. */
const SDM_BACKEND_FILE_READ = 2

interface FileReadInput {
  readonly diversification: Exclude<Diversification, 'listed'>
  /** The key set's fileReadKey, 16 bytes. */
  readonly master: Uint8Array
  /** For `boltcard`, the version of the cards in four bytes, least significant first; empty: 0. */
  readonly systemIdentifier: Uint8Array
}

/**
 * The SDMFileRead keys of a key set's chips.
 * @returns a function of a chip's UID (7 bytes) and generation, which throws RangeError if they are invalid
 */
export function fileReadKeys({
  diversification,
  master,
  systemIdentifier,
}: FileReadInput): (uid: Uint8Array, generation: number) => AesKey {
  const key = new AesKey(master)
  const bytes = Buffer.from(master)
  switch (diversification) {
    case 'none':
      return () => key
    case 'an10922':
      return (uid, generation) =>
        new AesKey(an10922(key, chipKeyInput({ uid, systemIdentifier, generation })))
    case 'boltcard': {
      const first = versionIn(systemIdentifier)
      return (uid, generation) => new AesKey(boltcardFileRead(key, uid, (first + generation) >>> 0))
    }
    case 'sdm-backend':
      return (uid) => new AesKey(sdmBackendTagKey(bytes, uid, SDM_BACKEND_FILE_READ))
    case 'sdm-backend-legacy':
      return (uid) => new AesKey(sdmBackendLegacyTagKey(bytes, uid, SDM_BACKEND_FILE_READ))
  }
}

const versionIn = (systemIdentifier: Uint8Array): number =>
  Buffer.concat([systemIdentifier, Buffer.alloc(4)]).readUInt32LE(0)
