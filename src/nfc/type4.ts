import { NdefFormatError } from './ndef.ts'
import { answerData } from './ntag424/answer.ts'
import type { Script } from './script.ts'

// What every NFC Forum Type 4 tag understands, NTAG 424 and HaLo alike. Source: Type 4 Tag 2.0 s5.

/** The NDEF application, and on an NTAG 424 all its files. */
export const NDEF_APPLICATION = Buffer.from('D2760000850101', 'hex')
export const CC_FILE_ID = 0xe103
export const NDEF_FILE_ID = 0xe104

const OK = 0x9000
/** An ACR122U answers 6F00 when more than 3B bytes are asked for at once. */
const READ_CHUNK = 0x30
/** Far beyond any tag's URL: a tag that claims more has nothing for us. */
const LONGEST_MESSAGE = 8192

/** As phones do it, so that every tag knows it. @throws ChipStatusError 0x6a82 when the card has no such application, another status when it is no Type 4 tag */
export function* selectApplication(): Script<void> {
  const { length } = NDEF_APPLICATION
  answerData(
    yield Buffer.concat([Buffer.of(0x00, 0xa4, 0x04, 0x00, length), NDEF_APPLICATION, Buffer.of(0x00)]),
    OK,
  )
}

/** @throws ChipStatusError */
export function* selectFile(id: number): Script<void> {
  answerData(yield Buffer.of(0x00, 0xa4, 0x00, 0x0c, 0x02, id >> 8, id & 0xff), OK)
}

/** READ BINARY of the selected file. @param length 1 to 48 bytes @throws ChipStatusError, AnswerFormatError */
export function* readBinary(offset: number, length: number): Script<Buffer> {
  return Buffer.from(answerData(yield Buffer.of(0x00, 0xb0, offset >> 8, offset & 0xff, length), OK, length))
}

/** UPDATE BINARY of the selected file, which must be writable by all. @throws ChipStatusError */
export function* updateBinary(offset: number, data: Uint8Array): Script<void> {
  answerData(
    yield Buffer.concat([Buffer.of(0x00, 0xd6, offset >> 8, offset & 0xff, data.length), data]),
    OK,
    0,
  )
}

/**
 * The NDEF file up to the end of its message, NLEN included. Nothing comes between its reads, so that a chip with a
 * counter takes all of them for one tap. @throws ChipStatusError, AnswerFormatError, NdefFormatError
 */
export function* readNdefFile(): Script<Buffer> {
  yield* selectFile(NDEF_FILE_ID)
  const parts = [yield* readBinary(0, 2)]
  const length = parts[0]?.readUInt16BE() ?? 0
  if (length > LONGEST_MESSAGE) throw new NdefFormatError(`it claims to have ${length} bytes`)
  for (let at = 2; at < length + 2; at += READ_CHUNK)
    parts.push(yield* readBinary(at, Math.min(READ_CHUNK, length + 2 - at)))
  return Buffer.concat(parts)
}
