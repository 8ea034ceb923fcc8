import { timingSafeEqual } from 'node:crypto'
import { AesKey, BLOCK, oddBytes } from './cmac.ts'
import { LrpKey, lrpKey } from './lrp.ts'

// Secure Unique NFC messages (SUN, by Secure Dynamic Messaging). Source: NXP AN12196 s3.3 and s3.4,
// NT4H2421Gx s9.3.

export type SdmMode = 'aes' | 'lrp'

/** Decrypted but unverified data of a tap. */
interface PiccData {
  /** 7 bytes. */
  readonly uid: Buffer
  /** SDMReadCtr: 1 to 16777215. */
  readonly counter: number
  readonly mode: SdmMode
}

/** The input to the key derivation of one tap. */
export type SdmInput = Readonly<{ uid: Uint8Array; counter: number; mode: SdmMode }>

const UID_LENGTH = 7
/** PICCDataTag: UID and counter mirrored, UID of 7 bytes. Source: NT4H2421Gx Table 21 */
const TAG = 0xc7
const LRP_RANDOM = 8
const AES_LENGTH = BLOCK
const LRP_LENGTH = LRP_RANDOM + BLOCK
const PADDING = BLOCK - 1 - UID_LENGTH - 3

/**
 * Decrypts the `e` of a tap. @param e its bytes: 16 from a chip in AES mode, 24 in LRP mode
 * @returns undefined when the length or the tag is wrong. With a wrong key one in 256 passes, so trust nothing before
 * verifySunMac
 * Source: AN12196 s3.3 (AES), NT4H2421Gx s9.3.4.2 (LRP)
 */
export function decryptPiccData(metaRead: AesKey, e: Uint8Array): PiccData | undefined {
  if (e.length === AES_LENGTH) return readPiccData(metaRead.decryptBlock(e), 'aes')
  if (e.length !== LRP_LENGTH) return undefined
  return readPiccData(lrpKey(metaRead).decrypt(0, e.subarray(0, LRP_RANDOM), e.subarray(LRP_RANDOM)), 'lrp')
}

/** Of a chip that mirrors its UID without the counter. */
const UID_ONLY = 0x87
/** First byte of all UIDs: NXP. */
export const NXP = 0x04

/** True if `e` decrypts to the UID of a chip that mirrors no counter. With a wrong key one in 65,536 passes. */
export function isWithoutCounter(metaRead: AesKey, e: Uint8Array): boolean {
  if (e.length !== AES_LENGTH) return false
  const plain = metaRead.decryptBlock(e)
  return plain[0] === UID_ONLY && plain[1] === NXP
}

/**
 * The inverse of decryptPiccData: 16 bytes in AES mode, 24 in LRP mode. Source: NT4H2421Gx s9.3.4
 * @param random 5 bytes of padding in AES mode; 13 in LRP mode, the first 8 of them sent in plain
 * @throws RangeError when the UID, the counter or random does not fit
 */
export function encryptPiccData(metaRead: AesKey, tap: SdmInput, random: Uint8Array): Buffer {
  const clear = tap.mode === 'lrp' ? LRP_RANDOM : 0
  if (random.length !== clear + PADDING)
    throw new RangeError(
      `PICCData in ${tap.mode} mode takes ${clear + PADDING} random bytes, not ${random.length}`,
    )
  const plain = Buffer.concat([Buffer.of(TAG), uidAndCounter(tap), random.subarray(clear)])
  if (tap.mode === 'aes') return metaRead.encryptBlock(plain)
  const rand = random.subarray(0, LRP_RANDOM)
  return Buffer.concat([rand, lrpKey(metaRead).encrypt(0, rand, plain)])
}

/**
 * The MAC that a tap shows as `c`: 8 bytes. @param macInput the covered text, as on the wire
 * @throws RangeError when the UID or the counter does not fit
 * Source: AN12196 s3.4.4, NT4H2421Gx s9.3.8
 */
export function sunMac(fileRead: AesKey, tap: SdmInput, macInput: string): Buffer {
  return sunMacOf(fileRead, tap)(macInput)
}

/** sunMac for several texts of one tap, whose session key is derived once. */
export function sunMacOf(fileRead: AesKey, tap: SdmInput): (macInput: string) => Buffer {
  const session =
    tap.mode === 'lrp' ? lrpSession(fileRead, tap) : new AesKey(fileRead.cmac(sessionVector(SV2, tap)))
  return (macInput) => oddBytes(session.cmac(Buffer.from(macInput)))
}

/**
 * Compares the MAC of a tap in constant time. @param c false unless it has 8 bytes
 * @throws RangeError when the UID or the counter does not fit
 */
export function verifySunMac(fileRead: AesKey, tap: SdmInput, macInput: string, c: Uint8Array): boolean {
  return c.length === BLOCK / 2 && timingSafeEqual(sunMac(fileRead, tap, macInput), c)
}

/**
 * The session keys of a tap in AES mode, 16 bytes each. (In LRP mode one key does both.)
 * @throws RangeError when the UID or the counter does not fit
 * Source: AN12196 s3.3 Table 1
 */
export function sdmSessionKeys(fileRead: AesKey, tap: Omit<SdmInput, 'mode'>): { enc: Buffer; mac: Buffer } {
  return { enc: fileRead.cmac(sessionVector(SV1, tap)), mac: fileRead.cmac(sessionVector(SV2, tap)) }
}

/**
 * Decrypts SDMENCFileData, the part of the file that a tap shows encrypted. The length stays the same.
 * @returns undefined unless the input is whole blocks of 16 bytes
 * @throws RangeError when the UID or the counter does not fit
 * Source: AN12196 s3.4.3 Table 3, NT4H2421Gx s9.3.6
 */
export function decryptFileData(fileRead: AesKey, tap: SdmInput, encrypted: Uint8Array): Buffer | undefined {
  if (encrypted.length === 0 || encrypted.length % BLOCK !== 0) return undefined
  if (tap.mode === 'lrp') return lrpSession(fileRead, tap).decrypt(1, lrpStart(tap), encrypted)
  const { key, iv } = encSession(fileRead, tap)
  return key.decryptCbc(iv, encrypted)
}

/** The inverse of decryptFileData. @param data whole blocks of 16 bytes @throws RangeError */
export function encryptFileData(fileRead: AesKey, tap: SdmInput, data: Uint8Array): Buffer {
  if (tap.mode === 'lrp') return lrpSession(fileRead, tap).encrypt(1, lrpStart(tap), data)
  const { key, iv } = encSession(fileRead, tap)
  return key.encryptCbc(iv, data)
}

const counterBytes = (tap: SdmInput): Buffer => uidAndCounter(tap).subarray(UID_LENGTH)
const lrpStart = (tap: SdmInput): Buffer => Buffer.concat([counterBytes(tap), Buffer.alloc(3)])

function encSession(fileRead: AesKey, tap: SdmInput): { key: AesKey; iv: Buffer } {
  const key = new AesKey(sdmSessionKeys(fileRead, tap).enc)
  const counter = counterBytes(tap)
  return { key, iv: key.encryptBlock(Buffer.concat([counter, Buffer.alloc(BLOCK - counter.length)])) }
}

// Prefixes of session vectors: NT4H2421Gx s9.3.9.
const SV1 = Buffer.from('C33C00010080', 'hex')
const SV2 = Buffer.from('3CC300010080', 'hex')
const SV_LRP = Buffer.from('00010080', 'hex')
const SV_LRP_END = Buffer.from('1EE1', 'hex')

/** 6 + 7 + 3 bytes: exactly one block. */
function sessionVector(start: Buffer, tap: Omit<SdmInput, 'mode'>): Buffer {
  const out = Buffer.allocUnsafe(BLOCK)
  out.set(start)
  writeUidAndCounter(out, start.length, tap)
  return out
}

/** LRP mode uses a single session key: NT4H2421Gx s9.3.9.2. */
function lrpSession(fileRead: AesKey, tap: SdmInput): LrpKey {
  const vector = Buffer.concat([SV_LRP, uidAndCounter(tap), SV_LRP_END])
  return new LrpKey(new AesKey(lrpKey(fileRead).cmac(vector)))
}

function readPiccData(plain: Buffer, mode: SdmMode): PiccData | undefined {
  if (plain[0] !== TAG) return undefined
  const end = 1 + UID_LENGTH
  return { uid: plain.subarray(1, end), counter: plain.readUIntLE(end, 3), mode }
}

function uidAndCounter(tap: Omit<SdmInput, 'mode'>): Buffer {
  const out = Buffer.allocUnsafe(UID_LENGTH + 3)
  writeUidAndCounter(out, 0, tap)
  return out
}

/** SDMReadCtr is little-endian here, unlike in a plain mirror: NT4H2421Gx s9.3.1. */
function writeUidAndCounter(out: Buffer, at: number, { uid, counter }: Omit<SdmInput, 'mode'>): void {
  if (uid.length !== UID_LENGTH) throw new RangeError(`A chip's UID has 7 bytes, not ${uid.length}`)
  out.set(uid, at)
  // Throws RangeError beyond 24 bits.
  out.writeUIntLE(counter, at + UID_LENGTH, 3)
}
