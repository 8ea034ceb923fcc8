import { setTimeout as sleep } from 'node:timers/promises'
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
export interface TearOff {
  readonly apdu: number
  /** `after`: the chip has carried out the command. */
  readonly when: 'before' | 'after'
}

/** Properties of a reader and its link. */
export interface VirtualLink {
  /** Time that each APDU takes, in milliseconds. Default: none. */
  readonly delayMs?: number
  /** The reader answers 6F00 in the chip's place above this Lc. Default: 255, all that a short APDU has. */
  readonly maxLc?: number
}

interface CardOptions extends VirtualLink {
  readonly tear?: TearOff
  /** Called before each answer, since the chip may have written something. */
  readonly changed?: () => void
}

/** The answer of readers that cannot pass an APDU on, such as the ACR122U above 59 bytes of data. */
const NOT_PASSED_ON = Buffer.from('6F00', 'hex')

export class EmulatedCard implements Card {
  readonly reader: string
  readonly atr: Uint8Array
  readonly #chip: VirtualChip
  readonly #options: CardOptions
  readonly #presentation: { present: boolean; sent: number }
  #released = false

  /** @param stay shared by all connections to the card while it lies there */
  constructor(
    reader: string,
    chip: VirtualChip,
    options: CardOptions = {},
    stay = { present: true, sent: 0 },
  ) {
    this.reader = reader
    this.atr = chip.atr
    this.#chip = chip
    this.#options = options
    this.#presentation = stay
  }

  get present(): boolean {
    return this.#presentation.present
  }

  /** Number of sent APDUs, including the torn one. */
  get sent(): number {
    return this.#presentation.sent
  }

  /** The card itself, or a new connection to it after a release, which leaves the chip as it is. */
  connected(): EmulatedCard {
    return this.#released
      ? new EmulatedCard(this.reader, this.#chip, this.#options, this.#presentation)
      : this
  }

  async transmit(apdu: Uint8Array): Promise<Uint8Array> {
    if (this.#released) throw new Error('This card was released: wait for it again')
    const stay = this.#presentation
    if (!stay.present) throw new CardGone()
    stay.sent += 1
    const { tear, delayMs, maxLc, changed } = this.#options
    const isTornOff = stay.sent === tear?.apdu
    if (delayMs) await sleep(delayMs)
    if (!stay.present || (isTornOff && tear?.when === 'before')) return this.#liftAndThrow()
    if (maxLc !== undefined && lcOf(apdu) > maxLc) return NOT_PASSED_ON
    const answer = this.#chip.process(apdu)
    changed?.()
    return isTornOff ? this.#liftAndThrow() : answer
  }

  /** Nobody lifts a virtual card, so waiting for its removal removes it. */
  async removed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted()
    this.lift()
  }

  async signal(): Promise<void> {}

  async release(): Promise<void> {
    this.#released = true
  }

  lift(): void {
    if (!this.#presentation.present) return
    this.#presentation.present = false
    this.#chip.powerOff()
  }

  #liftAndThrow(): never {
    this.lift()
    throw new CardGone()
  }
}

/** 0 if the APDU carries no data. */
function lcOf(apdu: Uint8Array): number {
  return apdu.length > 5 ? (apdu[4] ?? 0) : 0
}
