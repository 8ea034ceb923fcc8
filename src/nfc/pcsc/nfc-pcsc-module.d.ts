/** The used part of nfc-pcsc 0.8.1, which has no types. Source: its code and that of pcsclite */
declare module 'nfc-pcsc' {
  import type { EventEmitter } from 'node:events'

  type OnNames = (error: Error | undefined, names: Buffer) => void

  export class NFC extends EventEmitter<{ reader: [Reader]; error: [Error] }> {
    readonly pcsc: { start: (onNames: OnNames) => void }
  }

  /** pcsclite's reader. nfc-pcsc drops its error codes; they are only in the messages. */
  interface LowLevelReader extends EventEmitter<{ status: [{ state: number; atr?: Buffer }] }> {
    readonly SCARD_SHARE_EXCLUSIVE: number
    connect(
      options: { readonly share_mode: number },
      done: (error: Error | undefined, protocol: number) => void,
    ): void
    control(
      command: Buffer,
      code: number,
      answerMaxLength: number,
      done: (error: Error | undefined, answer: Buffer) => void,
    ): void
  }

  export interface Reader extends EventEmitter<{ error: [Error]; end: [] }> {
    readonly name: string
    connection: object | null
    card: object | null
    readonly reader: LowLevelReader
    disconnect(): Promise<true>
    transmit(apdu: Buffer, answerMaxLength: number): Promise<Buffer>
  }
}
