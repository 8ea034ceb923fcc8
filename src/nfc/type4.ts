import { NdefFormatError } from './ndef.ts'
import { answerData } from './ntag424/errors.ts'
import { type Script, send, together } from './script.ts'

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

/**
 * Answered to the first command after a conversation that broke off within an authentication, which it ends: ask again.
 * Source: NT4H2421Gx s10.9.1 Table 86
 */
export const BROKEN_OFF = 0x6985

/** @throws ChipStatusError 0x6a82 when the card has no such application, another status when it is no Type 4 tag */
export function* selectApplication(): Script<void> {
  const { length } = NDEF_APPLICATION
  answerData(
    yield* send(
      Buffer.concat([Buffer.of(0x00, 0xa4, 0x04, 0x00, length), NDEF_APPLICATION, Buffer.of(0x00)]),
    ),
    OK,
  )
}

/** @throws ChipStatusError */
export function* selectFile(id: number): Script<void> {
  answerData(yield* send(Buffer.of(0x00, 0xa4, 0x00, 0x0c, 0x02, id >> 8, id & 0xff)), OK)
}

/** READ BINARY of the selected file. @param length 1 to 48 bytes @throws ChipStatusError, AnswerFormatError */
export function* readBinary(offset: number, length: number): Script<Buffer> {
  const apdu = Buffer.of(0x00, 0xb0, offset >> 8, offset & 0xff, length)
  return Buffer.from(answerData(yield* send(apdu), OK, length))
}

/** UPDATE BINARY of the selected file, which must be writable without a key. @throws ChipStatusError */
export function* updateBinary(offset: number, data: Uint8Array): Script<void> {
  answerData(
    yield* send(Buffer.concat([Buffer.of(0x00, 0xd6, offset >> 8, offset & 0xff, data.length), data])),
    OK,
    0,
  )
}

/**
 * Reads the NDEF file up to the end of its message, NLEN included. No other command may come between the reads, so
 * that a chip counts them as one tap.
 * @param expected the length that it probably has, which the file must hold in any case: then it takes one burst
 * @throws ChipStatusError, AnswerFormatError, NdefFormatError
 */
export function* readNdefFile(expected = 2): Script<Buffer> {
  const first = [...readChunks(0, 2), ...readChunks(2, expected)]
  const [, ...parts] = yield* together([selectFile(NDEF_FILE_ID), ...first])
  const length = 2 + (parts[0]?.readUInt16BE() ?? 0)
  if (length > LONGEST_MESSAGE) throw new NdefFormatError(`it claims a length of ${length - 2} bytes`)
  if (length > expected) parts.push(...(yield* together(readChunks(expected, length))))
  return Buffer.concat(parts).subarray(0, length)
}

/** Reads the selected file from `start` to before `end`. */
function readChunks(start: number, end: number): Script<Buffer>[] {
  const count = Math.max(0, Math.ceil((end - start) / READ_CHUNK))
  return Array.from({ length: count }, (_, at) => {
    const from = start + at * READ_CHUNK
    return readBinary(from, Math.min(READ_CHUNK, end - from))
  })
}
