import type { Script } from '../script.ts'
import { ADDITIONAL_FRAME, answerData } from './answer.ts'
import { answerChallenge, authenticateFirst, openSession } from './authenticate.ts'
import { changeKeyCommand, type KeyChange } from './change-key.ts'
import { type AesKey, BLOCK } from './cmac.ts'
import { AnswerFormatError } from './errors.ts'
import { decodeFileSettings, encodeFileSettings, type FileSettings } from './file-settings.ts'
import type { Command, CommMode, Session } from './session.ts'

// The chip's own commands, one script each. With no session a command travels in plain, which the chip takes
// where nothing has to be proven: NT4H2421Gx s8.2.3.5.

const EMPTY = Buffer.alloc(0)
/** Lc has one byte; header, MAC and padding need their share of it. */
const WRITE_CHUNK: Readonly<Record<CommMode, number>> = { plain: 240, mac: 240, full: 224 }

/** What a chip says about how and when it was made. */
export interface ChipVersion {
  readonly vendor: number
  /** 4 is NTAG, 1 DESFire, 2 Plus, 3 Ultralight. */
  readonly type: number
  readonly majorVersion: number
  /** Code of the memory size: 0x11 on an NTAG 424. */
  readonly storage: number
  /** 7 bytes; all zero when the chip shows a random one instead. */
  readonly uid: Buffer
}

/** Three frames. Source: NT4H2421Gx s10.5.2 @throws ChipStatusError, AnswerFormatError */
export function* getVersion(): Script<ChipVersion> {
  const more = Buffer.of(0x90, 0xaf, 0x00, 0x00, 0x00)
  const hardware = answerData(yield Buffer.of(0x90, 0x60, 0x00, 0x00, 0x00), ADDITIONAL_FRAME, 7)
  answerData(yield more, ADDITIONAL_FRAME, 7)
  // 14 bytes, and one more where the chip tells its fab key.
  const production = answerData(yield more)
  if (production.length < 14) throw new AnswerFormatError('16 or more', production.length + 2)
  const [vendor = 0, type = 0, , majorVersion = 0, , storage = 0] = hardware
  return { vendor, type, majorVersion, storage, uid: Buffer.from(production.subarray(0, 7)) }
}

/** Source: NT4H2421Gx s10.6.2. Needs no key, so it tells which key to use without trying one. */
export function* getKeyVersion(keyNo: number, session?: Session): Script<number> {
  const command = { ins: 0x64, header: Buffer.of(keyNo), data: EMPTY }
  const answer = yield* exchange(command, 'mac', session)
  if (answer.length !== 1) throw new AnswerFormatError('3', answer.length + 2)
  return answer.readUInt8()
}

/** Source: NT4H2421Gx s10.7.2 */
export function* getFileSettings(file: number, session?: Session): Script<FileSettings> {
  const command = { ins: 0xf5, header: Buffer.of(file), data: EMPTY }
  return decodeFileSettings(yield* exchange(command, 'mac', session))
}

/**
 * Enabling SDM, or writing settings that have it enabled, sets the read counter to 0. Source: NT4H2421Gx s10.7.1
 * @throws RangeError when the settings break a rule of the chip's, before anything is sent
 */
export function* changeFileSettings(session: Session, file: number, settings: FileSettings): Script<void> {
  const data = encodeFileSettings(settings)
  yield* exchange({ ins: 0x5f, header: Buffer.of(file), data }, 'full', session)
}

/**
 * Writes a file in as many pieces as it takes. @param mode of the file, or plain where its access is free
 * Source: NT4H2421Gx s10.8.2
 */
export function* writeData(
  file: number,
  data: Uint8Array,
  { offset = 0, mode = 'plain', session }: FileAccess = {},
): Script<void> {
  const most = WRITE_CHUNK[mode]
  for (let at = 0; at < data.length; at += most) {
    const piece = data.subarray(at, at + most)
    const header = place(file, offset + at, piece.length)
    yield* exchange({ ins: 0x8d, header, data: piece }, mode, session)
  }
}

/** @param length at most 48 bytes, for the sake of readers that take no more. Source: NT4H2421Gx s10.8.1 */
export function* readData(
  file: number,
  length: number,
  { offset = 0, mode = 'plain', session }: FileAccess = {},
): Script<Buffer> {
  const command = { ins: 0xad, header: place(file, offset, length), data: EMPTY }
  return yield* exchange(command, mode, session)
}

export interface FileAccess {
  readonly offset?: number
  readonly mode?: CommMode
  readonly session?: Session
}

/** The true UID, also of a chip that shows a random one. Source: NT4H2421Gx s10.5.3 */
export function* getCardUid(session: Session): Script<Buffer> {
  return yield* exchange({ ins: 0x51, header: EMPTY, data: EMPTY }, 'full', session)
}

/** SDMReadCtr of a file, as far as the file's settings let this session see it. Source: NT4H2421Gx s10.7.3 */
export function* getFileCounters(file: number, session?: Session): Script<number> {
  const answer = yield* exchange({ ins: 0xf6, header: Buffer.of(file), data: EMPTY }, 'full', session)
  if (answer.length !== 5) throw new AnswerFormatError('7', answer.length + 2)
  return answer.readUIntLE(0, 3)
}

/**
 * AuthenticateEV2First. Know the key first: see authenticateFirst. @param rndA 16 fresh random bytes
 * @throws ChipStatusError 0x91ae when the key is another; ChipNotAuthenticError
 */
export function* authenticate(keyNo: number, key: AesKey, rndA: Uint8Array): Script<Session> {
  if (rndA.length !== BLOCK) throw new RangeError(`RndA has 16 bytes, not ${rndA.length}`)
  const challenge = answerChallenge(key, rndA, yield authenticateFirst(keyNo))
  return openSession(key, challenge, yield challenge.apdu)
}

/** Have both keys written down before. Of key 0 it ends the session. @throws ChipStatusError, ResponseMacError */
export function* changeKey(session: Session, change: KeyChange): Script<void> {
  const answer = yield session.wrap(changeKeyCommand(change), 'full')
  if (change.keyNo === 0) session.unwrapLast(answer)
  else session.unwrap(answer, 'full')
}

function* exchange(command: Command, mode: CommMode, session: Session | undefined): Script<Buffer> {
  if (session) return session.unwrap(yield session.wrap(command, mode), mode)
  const body = Buffer.concat([command.header, command.data])
  const lc = body.length > 0 ? Buffer.of(body.length) : EMPTY
  return Buffer.from(
    answerData(yield Buffer.concat([Buffer.of(0x90, command.ins, 0x00, 0x00), lc, body, Buffer.of(0x00)])),
  )
}

function place(file: number, offset: number, length: number): Buffer {
  const header = Buffer.alloc(7)
  header[0] = file
  header.writeUIntLE(offset, 1, 3)
  header.writeUIntLE(length, 4, 3)
  return header
}
