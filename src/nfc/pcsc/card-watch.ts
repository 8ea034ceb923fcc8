import type { Card, ReaderEvent, ReaderUnavailable } from '../card.ts'
import type { ReaderSnapshot, Refusal } from './protocol.ts'

export type ConnectResult =
  | { readonly status: 'card'; readonly card: Card }
  | { readonly status: 'refused'; readonly why: Refusal }

export interface CardWatchOptions {
  /** Limits the watch to one reader: cards on others are not connected to. */
  readonly wanted: string | undefined
  connect(at: ReaderSnapshot): Promise<ConnectResult>
  emit(event: ReaderEvent): void
}

/** A new card gets a new slot, so that a connection attempt to the previous card has no effect. */
interface Slot {
  readonly presence: number
  at: ReaderSnapshot
  stage: 'seen' | 'connecting' | 'announced'
  reported: ReaderSnapshot['state'] | undefined
  refusals: number
}

/** A refusal may pass: another program uses the card for a moment, or it lies badly. */
const retryDelayMs = 250
/** A present card that is `gone` this many times is reported as mute. */
const maxGoneTimes = 4

/** Turns reader snapshots into events. Connects to each new card and announces it once that worked. */
export class CardWatch {
  readonly #options: CardWatchOptions
  readonly #slots = new Map<string, Slot>()
  readonly #retries = new Set<NodeJS.Timeout>()
  #stopped = false

  constructor(options: CardWatchOptions) {
    this.#options = options
  }

  update(all: readonly ReaderSnapshot[]): void {
    const { wanted } = this.#options
    const readers = wanted === undefined ? all : all.filter(({ name }) => name === wanted)
    for (const name of [...this.#slots.keys()])
      if (!readers.some((reader) => reader.name === name)) this.#removeReader(name)
    for (const reader of readers) this.#updateReader(reader)
  }

  down(error: ReaderUnavailable): void {
    for (const name of [...this.#slots.keys()]) this.#removeReader(name)
    this.#emit({ type: 'unavailable', error })
  }

  stop(): void {
    this.#stopped = true
    for (const timer of this.#retries) clearTimeout(timer)
  }

  #emit(event: ReaderEvent): void {
    if (!this.#stopped) this.#options.emit(event)
  }

  #removeReader(reader: string): void {
    if (this.#slots.get(reader)?.stage === 'announced') this.#emit({ type: 'card-removed', reader })
    this.#slots.delete(reader)
    this.#emit({ type: 'reader-removed', reader })
  }

  #updateReader(at: ReaderSnapshot): void {
    const before = this.#slots.get(at.name)
    if (before?.presence === at.presence) {
      before.at = at
      this.#tryConnect(before)
      return
    }
    if (before === undefined) this.#emit({ type: 'reader-added', reader: at.name })
    if (before?.stage === 'announced') this.#emit({ type: 'card-removed', reader: at.name })
    const slot: Slot = { presence: at.presence, at, stage: 'seen', reported: undefined, refusals: 0 }
    this.#slots.set(at.name, slot)
    this.#tryConnect(slot)
  }

  #tryConnect(slot: Slot): void {
    const { state } = slot.at
    if (this.#stopped || slot.stage !== 'seen' || state === 'empty') return
    if (state === 'present') void this.#connect(slot)
    else this.#reportUnusable(slot, state)
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
    if (result.why === 'in-use' || result.why === 'mute') this.#reportUnusable(slot, result.why)
    else if (slot.refusals >= maxGoneTimes) this.#reportUnusable(slot, 'mute')
    const timer = setTimeout(() => {
      this.#retries.delete(timer)
      if (this.#slots.get(slot.at.name) === slot) this.#tryConnect(slot)
    }, retryDelayMs)
    this.#retries.add(timer)
  }

  #reportUnusable(slot: Slot, state: 'in-use' | 'mute'): void {
    if (slot.reported === state) return
    slot.reported = state
    this.#emit({ type: 'card-unusable', reader: slot.at.name, state })
  }
}
