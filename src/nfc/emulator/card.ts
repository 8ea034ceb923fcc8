import { type Card, CardGone } from '../card.ts'
import type { VirtualChip } from './chip.ts'

/** Lifts the card in the middle: instead of the answer to APDU number `apdu`, counted from 1, nothing comes. */
export interface Tear {
  readonly apdu: number
  /** Whether the chip had carried it out. */
  readonly when: 'before' | 'after'
}

/** A virtual chip on a virtual reader. */
export class EmulatedCard implements Card {
  readonly reader: string
  readonly atr: Uint8Array
  /** APDUs that were sent, the torn one included. */
  sent = 0
  readonly #chip: VirtualChip
  readonly #tear: Tear | undefined
  readonly #changed: () => void
  #present = true

  /** @param changed is called when the chip may have written something, before its answer is given */
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

  /** Nobody stands at a virtual reader, so whoever waits for the card to go makes it go. */
  async removed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted()
    this.lift()
  }

  async release(): Promise<void> {}

  /** Takes the card out of the field. */
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
