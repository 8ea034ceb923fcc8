/** Every error ends the session in which it happens. */
export abstract class ChipError extends Error {
  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

export class ChipStatusError extends ChipError {
  /** SW1 SW2, for example 0x91ae. */
  readonly status: number

  constructor(status: number) {
    const meaning = MEANINGS[status] ?? 'an unexpected status'
    super(`The chip answered ${status.toString(16).toUpperCase().padStart(4, '0')}: ${meaning}`)
    this.status = status
  }
}

export class ResponseMacError extends ChipError {
  constructor() {
    super("The MAC of the chip's answer is wrong. Hold one chip still on the reader and authenticate again")
  }
}

export class ChipNotAuthenticError extends ChipError {
  constructor() {
    super('The chip did not prove that it knows the key. It may be a copy, or two chips may answer at once')
  }
}

/** An empty answer means that the chip left the reader. */
export class AnswerFormatError extends ChipError {
  constructor(expected: string, length: number) {
    super(
      length === 0
        ? 'The chip did not answer. Hold it still on the reader'
        : `The chip's answer has ${length} bytes instead of ${expected}`,
    )
  }
}

export class SessionEndedError extends ChipError {
  constructor() {
    super('The session with the chip has ended. Authenticate again')
  }
}

// Source: NT4H2421Gx s10, the status words of each command; below 37000 those of ISO 7816-4.
const MEANINGS: Readonly<Record<number, string>> = {
  26368: 'wrong length of the command',
  27010: 'permission denied',
  27013: 'not possible now',
  27266: 'no such file or application',
  27270: 'a parameter is wrong',
  27904: 'unknown command',
  28160: 'unknown class of commands',
  37131: 'command not supported now',
  37148: 'unknown command',
  37150: 'the MAC or the padding of the command is wrong',
  37184: 'no such key',
  37246: 'wrong length of the command',
  37277: 'permission denied',
  37278: 'a parameter is wrong',
  37293: 'too many failed authentications; try again later with the right key',
  37294: 'authentication failed or is required: the key is not the one on the chip',
  37310: 'beyond the end of the file',
  37322: 'an earlier command was not completed',
  37358: 'memory error',
  37360: 'no such file',
}

export const DONE = 0x9100
export const ADDITIONAL_FRAME = 0x91af
/** A chip answers Read_Sig with it: AN12196 s8.2. */
export const SIGNATURE_OK = 0x9190
/** Status words of ISO 7816-4. */
const ISO_DONE = 0x9000

/** SW1 SW2; 0 where there are none. */
export const statusOf = (answer: Uint8Array): number => ((answer.at(-2) ?? 0) << 8) | (answer.at(-1) ?? 0)

/** False if the commands that should follow must not be sent. */
export const hasSucceeded = (answer: Uint8Array): boolean =>
  [DONE, ADDITIONAL_FRAME, SIGNATURE_OK, ISO_DONE].includes(statusOf(answer))

/**
 * Checks and removes the status of an answer. @param length the required number of data bytes
 * @throws ChipStatusError for any other status, AnswerFormatError
 */
export function answerData(answer: Uint8Array, status = DONE, length?: number): Uint8Array {
  const expected = length === undefined ? '2 or more' : `${length + 2}`
  if (answer.length < 2) throw new AnswerFormatError(expected, answer.length)
  const end = answer.length - 2
  const actual = statusOf(answer)
  if (actual !== status) throw new ChipStatusError(actual)
  if (length !== undefined && end !== length) throw new AnswerFormatError(expected, answer.length)
  return answer.subarray(0, end)
}
