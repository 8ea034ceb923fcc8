import type { BackendName, Refusal } from './protocol.ts'

// The port inside the child process to one of the PC/SC libraries.

export interface BackendEvents {
  /**
   * @param bits SCARD_STATE_*, with the count of changes in the upper half if the backend gives it
   * @param atr if the backend gives it
   */
  status(reader: string, bits: number, atr?: Uint8Array): void
  removed(reader: string): void
  /** All initial readers have been reported. */
  settled(): void
  /** The process cannot continue. */
  failed(error: Error): void
}

export interface Backend {
  readonly name: BackendName
  /** Exclusively: no other program can use the card until `disconnect`. @throws PcscError */
  connect(reader: string): Promise<Connection>
}

/** Await each call before the next. */
export interface Connection {
  readonly atr: Uint8Array
  /** @throws PcscError */
  transmit(apdu: Uint8Array): Promise<Uint8Array>
  /** A command to the reader itself (CCID escape). @throws PcscError where the driver does not pass it on */
  control(command: Uint8Array): Promise<void>
  /** Leaves the card as it is. */
  disconnect(): Promise<void>
}

/** The library is not installed or not built for this computer. */
export class BackendMissing extends Error {}

/** @throws BackendMissing with the first line of the error */
export const missing = (error: unknown): never => {
  throw new BackendMissing(error instanceof Error ? error.message.split('\n', 1)[0] : String(error))
}

export class PcscError extends Error {
  readonly why: Refusal

  constructor(why: Refusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PcscError'
    this.why = why
  }
}

/** The control code of CCID's escape command. Source: ccid_ifdhandler.h of libccid, and Microsoft's usbccid */
export const escapeCode: number = process.platform === 'win32' ? 0x310000 + 3500 * 4 : 0x42000001

/**
 * pcscd turns a card off a moment after the last program has let go of it. One that lets go while we connect passes for
 * the last, and the card that is ours is turned off in the middle of its work, unless pcscd is told again that it is in
 * use. Source: winscard.c of pcsc-lite, whose SCardConnect notes the use before it counts the program
 */
export const mayLosePower: boolean = process.platform === 'linux'

/** Source: pcsclite.h, SCARD_STATE_*. The same on Linux, macOS, and Windows. */
export const stateBits = { present: 0x20, exclusive: 0x80, mute: 0x200 } as const
