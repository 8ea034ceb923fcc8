import { type Card, CardGone } from '../card.ts'
/** A chip in software, independent of the transport. */
export interface VirtualChip {
  readonly atr: Buffer
  /** @returns the answer to one APDU with its status bytes. Never throws */
  process(apdu: Uint8Array): Buffer
  /** Clears the volatile state. */
  powerOff(): void
}

/** The ATR of ISO 14443-4 cards without historical bytes, such as an NTAG 424. Source: PC/SC 2.01 part 3 */
export const TYPE_4_ATR = Buffer.from('3B8180018080', 'hex')

/** Lifts the card instead of delivering the answer to APDU number `apdu`, counted from 1. */
export interface Tear {
  readonly apdu: number
  /** `after`: the chip has carried out the command. */
  readonly when: 'before' | 'after'
}

export class EmulatedCard implements Card {
  readonly reader: string
  readonly atr: Uint8Array
  /** Number of sent APDUs, including the torn one. */
  sent = 0
  readonly #chip: VirtualChip
  readonly #tear: Tear | undefined
  readonly #changed: () => void
  #present = true

  /** @param changed called before each answer, since the chip may have written something */
  constructor(
    reader: string,
    chip: VirtualChip,
    { tear, changed }: { tear?: Tear; changed?: () => void } = {},
  ) {
    this.reader = reader
    this.atr = chip.atr
    this.#chip = chip
    this.#tear = tear
    this.#changed = changed ?? (() => undefined)
  }

  get present(): boolean {
    return this.#present
  }

  async transmit(apdu: Uint8Array): Promise<Uint8Array> {
    if (!this.#present) throw new CardGone()
    this.sent += 1
    const torn = this.sent === this.#tear?.apdu
    if (torn && this.#tear?.when === 'before') return this.#lifted()
    const answer = this.#chip.process(apdu)
    this.#changed()
    return torn ? this.#lifted() : answer
  }

  /** Nobody lifts a virtual card, so waiting for its removal removes it. */
  async removed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted()
    this.lift()
  }

  async release(): Promise<void> {}

  lift(): void {
    if (!this.#present) return
    this.#present = false
    this.#chip.powerOff()
  }

  #lifted(): never {
    this.lift()
    throw new CardGone()
  }
}
