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
  const text = Buffer.from(macInput)
  if (tap.mode === 'lrp') return oddBytes(lrpSession(fileRead, tap).cmac(text))
  return oddBytes(new AesKey(fileRead.cmac(sessionVector(SV2, tap))).cmac(text))
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
 * @public
 */
export function decryptFileData(fileRead: AesKey, tap: SdmInput, encrypted: Uint8Array): Buffer | undefined {
  if (encrypted.length === 0 || encrypted.length % BLOCK !== 0) return undefined
  const counter = uidAndCounter(tap).subarray(UID_LENGTH)
  if (tap.mode === 'lrp') {
    const start = Buffer.concat([counter, Buffer.alloc(3)])
    return lrpSession(fileRead, tap).decrypt(1, start, encrypted)
  }
  const enc = new AesKey(sdmSessionKeys(fileRead, tap).enc)
  const iv = enc.encryptBlock(Buffer.concat([counter, Buffer.alloc(BLOCK - counter.length)]))
  return enc.decryptCbc(iv, encrypted)
}

/** The parameter at which the MACed text starts; null: there is no text. */
type MacInputStart = 'd' | 'e' | null

/** The parameter of a TagTamper's status, two characters: the permanent status, and the current one. */
export const TAMPER_PARAMETER = 't'

export interface MacInputTemplate {
  readonly from: MacInputStart
  /** Parameter names in the chip's URL. */
  readonly names: Readonly<{ e: string; c: string; d: string }>
}

/**
 * Rebuilds the text that the MAC covers from the chip's template, since callers may reorder parameters:
 * `d=101&e=EF96…&c=`, or `e=EF96…&c=`, or nothing. A missing d counts as empty.
 * @param e hex digits in any case; chips write upper case
 * @param t a TagTamper's status, such as `CO`, which stands before c: `e=EF96…&t=CO&c=`
 * Source: NT4H2421Gx s9.3.7 (SDMMACInputOffset)
 */
export function macInputText({
  from,
  names,
  d,
  e,
  t,
}: MacInputTemplate & { d: string | undefined; e: string; t?: string | undefined }): string {
  if (from === null) return ''
  const status = t === undefined ? '' : `&${TAMPER_PARAMETER}=${t}`
  const tail = `${names.e}=${e.toUpperCase()}${status}&${names.c}=`
  return from === 'd' ? `${names.d}=${d ?? ''}&${tail}` : tail
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
