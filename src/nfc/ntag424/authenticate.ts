import { timingSafeEqual } from 'node:crypto'
import { AesKey, BLOCK, xorInto } from './cmac.ts'
import { ADDITIONAL_FRAME, answerData, ChipNotAuthenticError, DONE, statusOf } from './errors.ts'
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

/** @param answer to authenticateLrpFirst */
export const isInLrpMode = (answer: Uint8Array): boolean =>
  answer.length === 1 + BLOCK + 2 && statusOf(answer) === ADDITIONAL_FRAME && answer[0] === 0x01

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
  const b = Buffer.from(rndB)
  const mixed = Buffer.alloc(BLOCK)
  mixed.set(rndA.subarray(2, 8))
  // RndA[2..7] ^ RndB[0..5] ‖ RndB[6..15]
  xorInto(mixed, 0, b)
  const rest = Buffer.concat([
    Buffer.of(0x00, 0x01, 0x00, 0x80),
    rndA.subarray(0, 2),
    mixed,
    rndA.subarray(8),
  ])
  return {
    enc: key.cmac(Buffer.concat([Buffer.of(0xa5, 0x5a), rest])),
    mac: key.cmac(Buffer.concat([Buffer.of(0x5a, 0xa5), rest])),
  }
}

function rotateLeft(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])
}
