/** What went wrong in talking to a chip, by class. Every one ends the session it happened in. */
export abstract class ChipError extends Error {
  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/** The chip refused a command. */
export class ChipStatusError extends ChipError {
  /** SW1 SW2, for example 0x91ae. */
  readonly status: number

  constructor(status: number) {
    const meaning = MEANINGS[status] ?? 'an unexpected status'
    super(`The chip answered ${status.toString(16).toUpperCase().padStart(4, '0')}: ${meaning}`)
    this.status = status
  }
}

/** The MAC of an answer is wrong: it was changed on its way, or comes from another chip. */
export class ResponseMacError extends ChipError {
  constructor() {
    super("The MAC of the chip's answer is wrong. Hold one chip still on the reader and authenticate again")
  }
}

/** The chip did not prove that it knows the key that it was authenticated with. */
export class ChipNotAuthenticError extends ChipError {
  constructor() {
    super('The chip did not prove that it knows the key. It is no genuine chip, or two answer at once')
  }
}

/** An answer that is no answer; an empty one means that the chip left the reader. */
export class AnswerFormatError extends ChipError {
  constructor(expected: string, length: number) {
    super(
      length === 0
        ? 'The chip gave no answer. Hold it still on the reader'
        : `The chip's answer has ${length} bytes instead of ${expected}`,
    )
  }
}

/** A command was to be sent in a session that had ended. */
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
  37293: 'too many failed authentications, the chip is waiting; try again later, with the right key',
  37294: 'authentication failed, or needed: the key is not the one on the chip',
  37310: 'beyond the end of the file',
  37322: 'an earlier command was not completed',
  37358: 'memory error',
  37360: 'no such file',
}
