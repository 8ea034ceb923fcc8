/** A chip that is made of code: what lies on a virtual reader, whatever carries the bytes there. */
export interface VirtualChip {
  /** As a PC/SC reader gives it. */
  readonly atr: Buffer
  /** Takes one APDU and gives the answer, status bytes included. Never throws: a chip does not. */
  process(apdu: Uint8Array): Buffer
  /** The field is gone: whatever was not written is forgotten. */
  powerOff(): void
}

/** Of every ISO 14443-4 card without historical bytes, an NTAG 424 among them. Source: PC/SC 2.01 part 3 */
export const TYPE_4_ATR = Buffer.from('3B8180018080', 'hex')
