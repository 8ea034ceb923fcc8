import { setTimeout as delay } from 'node:timers/promises'
import type { Chip } from '../nfc.ts'
import type { PrivatePcscd } from './pcscd.ts'
import { emulated, type Chip as Lying, type PresentedCard } from './vpcd.ts'

export interface BoxLine {
  readonly uid: string | null
  readonly status: string
  readonly reader: string
  readonly row?: number
  readonly error?: string
}

/** A reader sees a card within half a second. */
const seenMs = 3_000

/**
 * Puts a card on a reader until the reader has powered it, or is gone: vsmartcard's driver loses one now and then that
 * comes right after another was lifted.
 */
export const lay = async (pcscd: PrivatePcscd, slot: number, chip: Lying): Promise<PresentedCard> => {
  for (;;) {
    const card = await pcscd.present(slot, chip)
    // It is out of the field where pcscd has died.
    const isSettled = Promise.race([card.powered.catch(() => undefined), card.removed]).then(() => true)
    if (await Promise.race([isSettled, delay(seenMs, false, { ref: false })])) return card
    card.remove()
    await card.removed
  }
}

/** Somebody who lays a chip on each reader, takes it off at its line, and lays the next one down. */
export class Hands {
  readonly #pcscd: PrivatePcscd
  readonly #stack: Chip[]
  readonly #as: (chip: Chip) => Lying
  readonly #lying = new Map<string, { readonly chip: Chip; readonly card: PresentedCard }>()

  /** @param as a chip as it lies there: delayed, say */
  constructor(
    pcscd: PrivatePcscd,
    chips: readonly Chip[],
    as: (chip: Chip) => Lying = ({ chip }) => emulated(chip),
  ) {
    this.#pcscd = pcscd
    this.#stack = [...chips]
    this.#as = as
  }

  /** Lays a chip on each reader that has none. */
  async lay(readers: readonly string[] = this.#pcscd.readers): Promise<void> {
    for (const reader of readers) {
      const chip = this.#lying.get(reader)?.chip ?? this.#stack.shift()
      if (chip) await this.#put(reader, chip)
    }
  }

  /** Takes off the chip that a line is about. One that failed is laid down again. */
  async take({ reader, status }: BoxLine): Promise<void> {
    const lying = this.#lying.get(reader)
    if (!lying) return
    lying.card.remove()
    this.#lying.delete(reader)
    await lying.card.removed
    const next = status === 'failed' ? lying.chip : this.#stack.shift()
    if (next) await this.#put(reader, next)
  }

  async #put(reader: string, chip: Chip): Promise<void> {
    const card = await this.#pcscd.present(this.#pcscd.readers.indexOf(reader), this.#as(chip))
    this.#lying.set(reader, { chip, card })
  }
}
