/** The used part of nfc-pcsc 0.8.1, which has no types. Source: its code and that of pcsclite */
declare module 'nfc-pcsc' {
  import type { EventEmitter } from 'node:events'

  type OnNames = (error: Error | undefined, names: Buffer) => void

  export class NFC extends EventEmitter<{ reader: [Reader]; error: [Error] }> {
    readonly pcsc: { start: (onNames: OnNames) => void }
  }

  export interface Reader extends EventEmitter<{ error: [Error]; end: [] }> {
    readonly name: string
    readonly connection: object | null
    card: object | null
    readonly reader: EventEmitter<{ status: [{ state: number; atr?: Buffer }] }>
    connect(): Promise<object>
    disconnect(): Promise<true>
    transmit(apdu: Buffer, answerMaxLength: number): Promise<Buffer>
  }
}
