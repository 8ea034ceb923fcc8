import { timingSafeEqual } from 'node:crypto'
import { AesKey, BLOCK, xorInto } from './cmac.ts'
import { ADDITIONAL_FRAME, answerData, ChipNotAuthenticError, DONE } from './errors.ts'
import { LrpKey } from './lrp.ts'
import { SecureSession } from './secure-session.ts'

const IV_ZERO = Buffer.alloc(BLOCK)

interface Challenge {
  /** The second APDU of the handshake. */
  readonly apdu: Buffer
  /** RndA and RndB have 16 bytes each. */
  readonly rndA: Buffer
  readonly rndB: Buffer
}

/**
 * First APDU of AuthenticateEV2First. Do not guess keys: failed attempts slow the chip down, and 1000 in total disable
 * the key for good. @param keyNo 0 to 4
 * Source: NT4H2421Gx s10.4.1, AN12196 Table 14
 */
export function authenticateFirst(keyNo: number): Buffer {
  return Buffer.of(0x90, 0x71, 0x00, 0x00, 0x02, keyNo, 0x00, 0x00)
}

/**
 * First APDU of AuthenticateLRPFirst, which a chip in LRP mode answers with 01 ‖ RndB and 91AF. It tries no key.
 * Source: NT4H2421Gx s10.4.3 (LenCap 06, PCDcap2.1 02), AN12321 Table 1
 */
export const authenticateLrpFirst = (keyNo: number): Buffer =>
  Buffer.of(0x90, 0x71, 0x00, 0x00, 0x08, keyNo, 0x06, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00)

/**
 * Second APDU of AuthenticateLRPFirst. @param answer the chip's answer to the first: 01 ‖ RndB and 91AF
 * @throws ChipStatusError, AnswerFormatError. Source: NT4H2421Gx s9.2.5
 */
export function answerLrpChallenge(key: AesKey, rndA: Uint8Array, answer: Uint8Array): LrpChallenge {
  const rndB = Buffer.from(answerData(answer, ADDITIONAL_FRAME, 1 + BLOCK).subarray(1))
  const vector = Buffer.concat([LRP_START, ...sessionContext(rndA, rndB), LRP_END])
  const session = new LrpKey(new AesKey(new LrpKey(key).cmac(vector)))
  const proof = Buffer.concat([rndA, session.cmac(Buffer.concat([rndA, rndB]))])
  const apdu = Buffer.concat([Buffer.of(0x90, 0xaf, 0x00, 0x00, proof.length), proof, Buffer.of(0x00)])
  return { apdu, rndA: Buffer.from(rndA), rndB, session }
}

/** As openSession. Source: NT4H2421Gx s9.2.5 */
export function openLrpSession({ rndA, rndB, session }: LrpChallenge, answer: Uint8Array): SecureSession {
  const body = answerData(answer, DONE, 2 * BLOCK)
  const info = body.subarray(0, BLOCK)
  const expected = session.cmac(Buffer.concat([rndB, rndA, info]))
  if (!timingSafeEqual(body.subarray(BLOCK), expected)) throw new ChipNotAuthenticError()
  // TI (4) ‖ PDCap2 (6) ‖ PCDCap2 (6), the first block that the session encrypts.
  const plain = session.decrypt(1, Buffer.alloc(4), info)
  return new SecureSession({ ti: plain.subarray(0, 4), lrp: session, counter: 0, blocks: 1 })
}

interface LrpChallenge extends Challenge {
  readonly session: LrpKey
}

const LRP_START = Buffer.from('00010080', 'hex')
const LRP_END = Buffer.from('9669', 'hex')

/**
 * Second APDU. @param rndA 16 fresh random bytes @param answer the chip's answer to the first: 16 bytes and 91AF
 * @throws ChipStatusError, AnswerFormatError; RangeError unless rndA has 16 bytes
 */
export function answerChallenge(key: AesKey, rndA: Uint8Array, answer: Uint8Array): Challenge {
  if (rndA.length !== BLOCK) throw new RangeError(`RndA has 16 bytes, not ${rndA.length}`)
  const rndB = key.decryptBlock(answerData(answer, ADDITIONAL_FRAME, BLOCK))
  const proof = key.encryptCbc(IV_ZERO, Buffer.concat([rndA, rotateLeft(rndB)]))
  const apdu = Buffer.concat([Buffer.of(0x90, 0xaf, 0x00, 0x00, proof.length), proof, Buffer.of(0x00)])
  return { apdu, rndA: Buffer.from(rndA), rndB }
}

/**
 * Checks that the chip knows the key too, and opens the session. @param answer the chip's answer to the second APDU:
 * 32 bytes and 9100 @throws ChipStatusError (0x91ae: wrong key), AnswerFormatError, ChipNotAuthenticError
 */
export function openSession(key: AesKey, { rndA, rndB }: Challenge, answer: Uint8Array): SecureSession {
  // TI (4) ‖ RndA' (16) ‖ PDcap2 (6) ‖ PCDcap2 (6): NT4H2421Gx s9.1.5
  const plain = key.decryptCbc(IV_ZERO, answerData(answer, DONE, 2 * BLOCK))
  if (!timingSafeEqual(plain.subarray(4, 4 + BLOCK), rotateLeft(rndA))) throw new ChipNotAuthenticError()
  const { enc, mac } = ev2SessionKeys(key, rndA, rndB)
  return new SecureSession({
    ti: plain.subarray(0, 4),
    enc: new AesKey(enc),
    mac: new AesKey(mac),
    counter: 0,
  })
}

/**
 * Session keys of AuthenticateEV2First and EV2NonFirst, 16 bytes each. @param rndA, rndB 16 bytes each
 * Source: NT4H2421Gx s9.1.7, AN12196 Table 14
 */
export function ev2SessionKeys(
  key: AesKey,
  rndA: Uint8Array,
  rndB: Uint8Array,
): { enc: Buffer; mac: Buffer } {
  const rest = Buffer.concat([Buffer.of(0x00, 0x01, 0x00, 0x80), ...sessionContext(rndA, rndB)])
  return {
    enc: key.cmac(Buffer.concat([Buffer.of(0xa5, 0x5a), rest])),
    mac: key.cmac(Buffer.concat([Buffer.of(0x5a, 0xa5), rest])),
  }
}

/** RndA[0..1] ‖ (RndA[2..7] ^ RndB[0..5]) ‖ RndB[6..15] ‖ RndA[8..15]: NT4H2421Gx s9.1.7, s9.2.7. */
function sessionContext(rndA: Uint8Array, rndB: Uint8Array): Uint8Array[] {
  const mixed = Buffer.alloc(BLOCK)
  mixed.set(rndA.subarray(2, 8))
  xorInto(mixed, 0, Buffer.from(rndB))
  return [rndA.subarray(0, 2), mixed, rndA.subarray(8)]
}

function rotateLeft(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])
}
