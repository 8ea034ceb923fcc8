import type { BackendName, Refusal } from './protocol.ts'

// The port inside the child process: one library for PC/SC or the other.

export interface BackendEvents {
  /** A reader's state, as SCARD_STATE_* bits, with the count of its changes in the upper half where there is one. */
  status(reader: string, bits: number): void
  removed(reader: string): void
  /** The readers that were there from the start have all been told of. */
  settled(): void
  /** Nothing more can be expected of this process. */
  failed(error: Error): void
}

export interface Backend {
  readonly name: BackendName
  /** @throws PcscError */
  connect(reader: string): Promise<Connection>
}

/** One thing at a time. */
export interface Connection {
  readonly atr: Uint8Array
  /** @throws PcscError */
  transmit(apdu: Uint8Array): Promise<Uint8Array>
  /** Leaves the card as it is. */
  disconnect(): Promise<void>
}

/** A library that is not installed, or not built, for this computer. */
export class BackendMissing extends Error {}

/** @throws BackendMissing instead of what went wrong */
export const missing = (error: unknown): never => {
  throw new BackendMissing(error instanceof Error ? error.message.split('\n', 1)[0] : String(error))
}

/** What PC/SC refused, by what that means to us. */
export class PcscError extends Error {
  readonly why: Refusal

  constructor(why: Refusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PcscError'
    this.why = why
  }
}

/** pcsclite.h: SCARD_STATE_*. The same on Linux, macOS and Windows. */
export const stateBits = { present: 0x20, exclusive: 0x80, mute: 0x200 } as const
