import { NdefFormatError } from './ndef.ts'
import { answerData } from './ntag424/errors.ts'
import type { Script } from './script.ts'

// Commands of every NFC Forum Type 4 tag, including NTAG 424 and HaLo. Source: Type 4 Tag 2.0 s5.

/** On an NTAG 424, this application holds all files. */
const NDEF_APPLICATION = Buffer.from('D2760000850101', 'hex')
export const CC_FILE_ID = 0xe103
export const NDEF_FILE_ID = 0xe104

const OK = 0x9000
/** An ACR122U answers 6F00 to reads of more than 3B bytes. */
const READ_CHUNK = 0x30
/** Far longer than any tag's URL. */
const LONGEST_MESSAGE = 8192

/** @throws ChipStatusError 0x6a82 when the card has no such application, another status when it is no Type 4 tag */
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

/** UPDATE BINARY of the selected file, which must be writable without a key. @throws ChipStatusError */
export function* updateBinary(offset: number, data: Uint8Array): Script<void> {
  answerData(
    yield Buffer.concat([Buffer.of(0x00, 0xd6, offset >> 8, offset & 0xff, data.length), data]),
    OK,
    0,
  )
}

/**
 * Reads the NDEF file up to the end of its message, NLEN included. No other command may come between the reads, so
 * that a chip counts them as one tap. @throws ChipStatusError, AnswerFormatError, NdefFormatError
 */
export function* readNdefFile(): Script<Buffer> {
  yield* selectFile(NDEF_FILE_ID)
  const parts = [yield* readBinary(0, 2)]
  const length = parts[0]?.readUInt16BE() ?? 0
  if (length > LONGEST_MESSAGE) throw new NdefFormatError(`it claims a length of ${length} bytes`)
  for (let at = 2; at < length + 2; at += READ_CHUNK)
    parts.push(yield* readBinary(at, Math.min(READ_CHUNK, length + 2 - at)))
  return Buffer.concat(parts)
}
