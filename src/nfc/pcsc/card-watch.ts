import type { Card, ReaderEvent, ReaderUnavailable } from '../card.ts'
import type { ReaderSnapshot, Refusal } from './protocol.ts'

export type Connected =
  | { readonly status: 'card'; readonly card: Card }
  | { readonly status: 'refused'; readonly why: Refusal }

export interface CardWatchOptions {
  /** Looks at this reader alone: the cards of others are left to themselves. */
  readonly wanted: string | undefined
  connect(at: ReaderSnapshot): Promise<Connected>
  emit(event: ReaderEvent): void
}

/** What is known of the card on a reader. A new card gets a new one, so what was begun with the old comes to nothing. */
interface Slot {
  readonly presence: number
  at: ReaderSnapshot
  stage: 'seen' | 'connecting' | 'announced'
  complained: ReaderSnapshot['state'] | undefined
  refusals: number
}

/** A card that refuses may be held by another program for a moment, or lie badly. */
const againMs = 250
/** So often a card may be gone while it lies there. */
const patientTimes = 4

/** Makes events of what readers look like: connects to each card that comes, and tells of it when that worked. */
export class CardWatch {
  readonly #options: CardWatchOptions
  readonly #slots = new Map<string, Slot>()
  readonly #again = new Set<NodeJS.Timeout>()
  #stopped = false

  constructor(options: CardWatchOptions) {
    this.#options = options
  }

  readers(all: readonly ReaderSnapshot[]): void {
    const { wanted } = this.#options
    const readers = wanted === undefined ? all : all.filter(({ name }) => name === wanted)
    for (const name of [...this.#slots.keys()])
      if (!readers.some((reader) => reader.name === name)) this.#readerGone(name)
    for (const reader of readers) this.#reader(reader)
  }

  down(error: ReaderUnavailable): void {
    for (const name of [...this.#slots.keys()]) this.#readerGone(name)
    this.#emit({ type: 'unavailable', error })
  }

  stop(): void {
    this.#stopped = true
    for (const timer of this.#again) clearTimeout(timer)
  }

  #emit(event: ReaderEvent): void {
    if (!this.#stopped) this.#options.emit(event)
  }

  #readerGone(reader: string): void {
    if (this.#slots.get(reader)?.stage === 'announced') this.#emit({ type: 'card-removed', reader })
    this.#slots.delete(reader)
    this.#emit({ type: 'reader-removed', reader })
  }

  #reader(at: ReaderSnapshot): void {
    const before = this.#slots.get(at.name)
    if (before?.presence === at.presence) {
      before.at = at
      this.#look(before)
      return
    }
    if (before === undefined) this.#emit({ type: 'reader-added', reader: at.name })
    if (before?.stage === 'announced') this.#emit({ type: 'card-removed', reader: at.name })
    const slot: Slot = { presence: at.presence, at, stage: 'seen', complained: undefined, refusals: 0 }
    this.#slots.set(at.name, slot)
    this.#look(slot)
  }

  #look(slot: Slot): void {
    const { state } = slot.at
    if (this.#stopped || slot.stage !== 'seen' || state === 'empty') return
    if (state === 'present') void this.#connect(slot)
    else this.#complain(slot, state)
  }

  async #connect(slot: Slot): Promise<void> {
    slot.stage = 'connecting'
    const result = await this.#options.connect(slot.at)
    if (this.#stopped || this.#slots.get(slot.at.name) !== slot) return
    if (result.status === 'card') {
      slot.stage = 'announced'
      return this.#emit({ type: 'card', reader: slot.at.name, card: result.card })
    }
    slot.stage = 'seen'
    slot.refusals += 1
    if (result.why === 'in-use' || result.why === 'mute') this.#complain(slot, result.why)
    else if (slot.refusals >= patientTimes) this.#complain(slot, 'mute')
    const timer = setTimeout(() => {
      this.#again.delete(timer)
      if (this.#slots.get(slot.at.name) === slot) this.#look(slot)
    }, againMs)
    this.#again.add(timer)
  }

  #complain(slot: Slot, state: 'in-use' | 'mute'): void {
    if (slot.complained === state) return
    slot.complained = state
    this.#emit({ type: 'card-unusable', reader: slot.at.name, state })
  }
}
