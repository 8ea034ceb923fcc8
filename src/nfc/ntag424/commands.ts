import { crc32 } from 'node:zlib'
import { type Script, send } from '../script.ts'
import {
  answerChallenge,
  answerLrpChallenge,
  authenticateFirst,
  authenticateLrpFirst,
  openLrpSession,
  openSession,
} from './authenticate.ts'
import { type AesKey, BLOCK } from './cmac.ts'
import { ADDITIONAL_FRAME, AnswerFormatError, answerData } from './errors.ts'
import { decodeFileSettings, encodeFileSettings, type FileSettings } from './file-settings.ts'
import type { Command, CommMode, SecureSession } from './secure-session.ts'

// The chip's own commands, one script each. Without a session a command travels in plain, which the chip accepts
// where access is free: NT4H2421Gx s8.2.3.5.

const EMPTY = Buffer.alloc(0)
/** File, offset, and length of ReadData and WriteData. */
const RANGE_LENGTH = 7

export interface ChipVersion {
  readonly vendor: number
  /** 4 is NTAG, 1 DESFire, 2 Plus, 3 Ultralight. */
  readonly type: number
  /** It has connectors for a loop that breaks when something is opened. */
  readonly isTagTamper: boolean
  readonly majorVersion: number
  /** Code of the memory size: 0x11 on an NTAG 424. */
  readonly storage: number
  /** 7 bytes; all zero when the chip shows a random one instead. */
  readonly uid: Buffer
}

/** Three frames. Source: NT4H2421Gx s10.5.2 @throws ChipStatusError, AnswerFormatError */
export function* getVersion(): Script<ChipVersion> {
  const more = Buffer.of(0x90, 0xaf, 0x00, 0x00, 0x00)
  const [first, second, third] = yield [Buffer.of(0x90, 0x60, 0x00, 0x00, 0x00), more, more]
  const hardware = answerData(first ?? EMPTY, ADDITIONAL_FRAME, 7)
  answerData(second ?? EMPTY, ADDITIONAL_FRAME, 7)
  // 14 bytes, and one more if the chip gives its fab key.
  const production = answerData(third ?? EMPTY)
  if (production.length < 14) throw new AnswerFormatError('16 or more', production.length + 2)
  const [vendor = 0, type = 0, subtype = 0, majorVersion = 0, , storage = 0] = hardware
  // 02 or 08; the upper four bits are the strength of the answer: NT4H2421Tx s11.5.2.
  const isTagTamper = (subtype & 0x0f) === 0x08
  return { vendor, type, isTagTamper, majorVersion, storage, uid: Buffer.from(production.subarray(0, 7)) }
}

/** Source: NT4H2421Gx s10.6.2. Needs no key, so it shows which key to use without trying one. */
export function* getKeyVersion(keyNo: number, session?: SecureSession): Script<number> {
  const command = { ins: 0x64, header: Buffer.of(keyNo), data: EMPTY }
  const answer = yield* exchange(command, 'mac', session)
  if (answer.length !== 1) throw new AnswerFormatError('3', answer.length + 2)
  return answer.readUInt8()
}

/** Source: NT4H2421Gx s10.7.2 */
export function* getFileSettings(file: number, session?: SecureSession): Script<FileSettings> {
  const command = { ins: 0xf5, header: Buffer.of(file), data: EMPTY }
  return decodeFileSettings(yield* exchange(command, 'mac', session))
}

/**
 * Writing settings with SDM enabled sets the read counter to 0. Source: NT4H2421Gx s10.7.1
 * @throws RangeError when the settings break one of the chip's rules, before anything is sent
 */
export function* changeFileSettings(
  session: SecureSession,
  file: number,
  settings: FileSettings,
): Script<void> {
  const data = encodeFileSettings(settings)
  yield* exchange({ ins: 0x5f, header: Buffer.of(file), data }, 'full', session)
}

/**
 * Enables the loop of a TagTamper, for good. The chip measures it from its next activation on, and everybody may read
 * its status. Source: NT4H2421Tx s11.5.1 option 07
 */
export function* enableTamper(session: SecureSession): Script<void> {
  const command = { ins: 0x5c, header: Buffer.of(0x07), data: Buffer.of(0x01, 0x0e) }
  yield* exchange(command, 'full', session)
}

/**
 * @param data not longer than writableBytes @param mode the file's mode, or plain where its access is free
 * Source: NT4H2421Gx s10.8.2
 */
export function* writeData(
  file: number,
  data: Uint8Array,
  { offset = 0, mode = 'plain', session }: FileAccess = {},
): Script<void> {
  yield* exchange({ ins: 0x8d, header: fileRange(file, offset, data.length), data }, mode, session)
}

/** The number of bytes that one WriteData takes in plain. @param maxLc the largest Lc that the reader passes */
export const writableBytes = (maxLc: number): number => maxLc - RANGE_LENGTH

/** @param length at most 48 bytes, the limit of some readers. Source: NT4H2421Gx s10.8.1 */
export function* readData(
  file: number,
  length: number,
  { offset = 0, mode = 'plain', session }: FileAccess = {},
): Script<Buffer> {
  const command = { ins: 0xad, header: fileRange(file, offset, length), data: EMPTY }
  return yield* exchange(command, mode, session)
}

interface FileAccess {
  readonly offset?: number
  readonly mode?: CommMode
  readonly session?: SecureSession
}

/** Returns the true UID, even if the chip shows a random one. Source: NT4H2421Gx s10.5.3 */
export function* getCardUid(session: SecureSession): Script<Buffer> {
  return yield* exchange({ ins: 0x51, header: EMPTY, data: EMPTY }, 'full', session)
}

/** Returns SDMReadCtr, if the file's settings allow this session to read it. Source: NT4H2421Gx s10.7.3 */
export function* getFileCounters(file: number, session?: SecureSession): Script<number> {
  const answer = yield* exchange({ ins: 0xf6, header: Buffer.of(file), data: EMPTY }, 'full', session)
  if (answer.length !== 5) throw new AnswerFormatError('7', answer.length + 2)
  return answer.readUIntLE(0, 3)
}

/**
 * AuthenticateEV2First. Do not guess keys: see authenticateFirst. @param rndA 16 fresh random bytes
 * @throws ChipStatusError 0x91ae for a wrong key; ChipNotAuthenticError
 */
export function* authenticate(keyNo: number, key: AesKey, rndA: Uint8Array): Script<SecureSession> {
  if (rndA.length !== BLOCK) throw new RangeError(`RndA has 16 bytes, not ${rndA.length}`)
  const challenge = answerChallenge(key, rndA, yield* send(authenticateFirst(keyNo)))
  return openSession(key, challenge, yield* send(challenge.apdu))
}

/** AuthenticateLRPFirst, for a chip in LRP mode. @throws as authenticate; ChipStatusError for one in AES mode */
export function* authenticateLrp(keyNo: number, key: AesKey, rndA: Uint8Array): Script<SecureSession> {
  const challenge = answerLrpChallenge(key, rndA, yield* send(authenticateLrpFirst(keyNo)))
  return openLrpSession(challenge, yield* send(challenge.apdu))
}

/**
 * Switches a chip to LRP mode, for good, which turns its mirrors off. Ends the session.
 * Source: NT4H2421Gx s10.5.1 option 05
 */
export function* enableLrp(session: SecureSession): Script<void> {
  const data = Buffer.from('00000000020000000000', 'hex')
  session.unwrapLast(yield* send(session.wrap({ ins: 0x5c, header: Buffer.of(0x05), data }, 'full')))
}

/** Record both keys first. Changing key 0 ends the session. @throws ChipStatusError, ResponseMacError */
export function* changeKey(session: SecureSession, change: KeyChange): Script<void> {
  const answer = yield* send(session.wrap(changeKeyCommand(change), 'full'))
  if (change.keyNo === 0) session.unwrapLast(answer)
  else session.unwrap(answer, 'full')
}

function* exchange(command: Command, mode: CommMode, session: SecureSession | undefined): Script<Buffer> {
  if (session) return session.unwrap(yield* send(session.wrap(command, mode)), mode)
  const body = Buffer.concat([command.header, command.data])
  const lc = body.length > 0 ? Buffer.of(body.length) : EMPTY
  const apdu = Buffer.concat([Buffer.of(0x90, command.ins, 0x00, 0x00), lc, body, Buffer.of(0x00)])
  return Buffer.from(answerData(yield* send(apdu)))
}

/** The header of ReadData and WriteData. */
export function fileRange(file: number, offset: number, length: number): Buffer {
  const header = Buffer.alloc(RANGE_LENGTH)
  header[0] = file
  header.writeUIntLE(offset, 1, 3)
  header.writeUIntLE(length, 4, 3)
  return header
}

const INS_CHANGE_KEY = 0xc4

/**
 * A key to be written in a session that was opened with key 0. Changing key 0 itself needs no old key, but ends the
 * session, so it comes last.
 */
export type KeyChange =
  | { readonly keyNo: 0; readonly newKey: Uint8Array; readonly version: number }
  | {
      readonly keyNo: 1 | 2 | 3 | 4
      readonly newKey: Uint8Array
      readonly oldKey: Uint8Array
      readonly version: number
    }

/**
 * ChangeKey, to be wrapped in CommMode.FULL. Pass the answer for key 0 to SecureSession.unwrapLast, others to unwrap.
 * Record both keys before sending it: a chip lifted now may hold either.
 * @throws RangeError unless keys have 16 bytes and the version is a byte
 * Source: NT4H2421Gx s10.6.1, AN12196 Tables 25 and 26
 */
export function changeKeyCommand(change: KeyChange): Command {
  return { ins: INS_CHANGE_KEY, header: Buffer.of(change.keyNo), data: changeKeyData(change) }
}

/** The plain data of ChangeKey: 21 bytes for keys 1 to 4, 17 for key 0. @throws RangeError as changeKeyCommand */
export function changeKeyData(change: KeyChange): Buffer {
  const { newKey, version } = change
  checkKey(newKey)
  if (!Number.isInteger(version) || version < 0 || version > 0xff)
    throw new RangeError(`A key version is a byte, not ${version}`)
  if (change.keyNo === 0) return Buffer.concat([newKey, Buffer.of(version)])
  const { oldKey } = change
  checkKey(oldKey)
  const xored = Buffer.from(newKey.map((byte, i) => byte ^ (oldKey[i] ?? 0)))
  const crc = Buffer.alloc(4)
  crc.writeUInt32LE(jamCrc32(newKey))
  return Buffer.concat([xored, Buffer.of(version), crc])
}

/** The chip expects CRC-32 of IEEE 802.3 without the final inversion. Source: AN12196 Table 25 */
export function jamCrc32(bytes: Uint8Array): number {
  return ~crc32(bytes) >>> 0
}

function checkKey(key: Uint8Array): void {
  if (key.length !== BLOCK) throw new RangeError(`An AES-128 key has 16 bytes, not ${key.length}`)
}
