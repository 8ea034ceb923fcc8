import {
  type Card,
  NoCard,
  type ReaderEvent,
  type ReaderFilter,
  type ReaderUnavailable,
  type ReaderUser,
} from '../card.ts'
import { isContactCard } from './contact-slot.ts'
import type { ReaderSnapshot, Refusal } from './protocol.ts'

export type ConnectResult =
  /** @property isNew false: an existing connection, which somebody else may be using */
  | { readonly status: 'card'; readonly card: Card; readonly isNew: boolean }
  | { readonly status: 'refused'; readonly why: Refusal }

export interface CardWatchOptions {
  /** Cards on others are not connected to. */
  readonly readers: ReaderFilter
  connect(at: ReaderSnapshot): Promise<ConnectResult>
  /** The programs that may hold a card. */
  users(): Promise<readonly ReaderUser[]>
  emit(event: ReaderEvent): void
  /** Default: `patience`. */
  readonly patience?: typeof patience
}

type Trouble = 'in-use' | 'mute'

/** A new card gets a new slot, so that a connection attempt to the previous card has no effect. */
interface Slot {
  readonly presence: number
  at: ReaderSnapshot
  stage: 'seen' | 'connecting' | 'announced' | 'passed-over'
  refusals: number
  trouble: Trouble | undefined
  /** Ends the wait before a lasting trouble is told. */
  reportTimer: NodeJS.Timeout | undefined
  retrying: NodeJS.Timeout | undefined
}

/**
 * Milliseconds before a person hears of a card that cannot be used: a program that polls holds it for a moment, and a
 * card that is being put down may be silent.
 */
const patience = { 'in-use': 1_000, mute: 400 }
/**
 * The pauses between attempts while another program has the card: PC/SC may tell nobody when it lets go. They grow
 * slowly, since a program that polls leaves the card free for moments only.
 */
const [minPauseMs, growth, maxPauseMs] = [20, 1.15, 250]
/** A present card that is `gone` this many times is reported as mute. */
const maxGoneTimes = 4

/** Turns reader snapshots into events. Connects to each new card and announces it once that worked. */
export class CardWatch {
  readonly #options: CardWatchOptions
  readonly #slots = new Map<string, Slot>()
  #stopped = false

  constructor(options: CardWatchOptions) {
    this.#options = options
  }

  update(all: readonly ReaderSnapshot[]): void {
    const readers = all.filter(({ name, isContact, hasContactCard }) => {
      // A reader is not pulled out when such a card is put into it.
      const isNewSlot = hasContactCard && !this.#slots.has(name)
      return this.#options.readers({ name, isContact: isContact || isNewSlot })
    })
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
    for (const slot of this.#slots.values()) forget(slot)
  }

  /** The reason why a card that lies on a reader was not announced, if there is one. */
  get trouble(): Trouble | undefined {
    return [...this.#slots.values()].find(({ stage, trouble }) => stage !== 'announced' && trouble)?.trouble
  }

  #emit(event: ReaderEvent): void {
    if (!this.#stopped) this.#options.emit(event)
  }

  #removeReader(reader: string): void {
    this.#leave(reader)
    this.#slots.delete(reader)
    this.#emit({ type: 'reader-removed', reader })
  }

  #leave(reader: string): void {
    const slot = this.#slots.get(reader)
    if (slot === undefined) return
    forget(slot)
    if (slot.stage === 'announced') this.#emit({ type: 'card-removed', reader })
  }

  #updateReader(at: ReaderSnapshot): void {
    const before = this.#slots.get(at.name)
    if (before?.presence === at.presence) {
      before.at = at
      this.#tryConnect(before)
      return
    }
    if (before === undefined) this.#emit({ type: 'reader-added', reader: at.name })
    this.#leave(at.name)
    const slot: Slot = {
      presence: at.presence,
      at,
      stage: 'seen',
      refusals: 0,
      trouble: undefined,
      reportTimer: undefined,
      retrying: undefined,
    }
    this.#slots.set(at.name, slot)
    this.#tryConnect(slot)
  }

  /** Also when the card is in use: PC/SC does not report when that ends. */
  #tryConnect(slot: Slot): void {
    const { state } = slot.at
    if (this.#stopped || slot.stage !== 'seen' || state === 'empty') return
    if (slot.at.hasContactCard && !this.#acceptsContactCard(slot)) return
    if (state === 'mute') this.#reportTrouble(slot, 'mute')
    else void this.#connect(slot)
  }

  async #connect(slot: Slot): Promise<void> {
    clearTimeout(slot.retrying)
    slot.stage = 'connecting'
    const result = await this.#options.connect(slot.at)
    if (!this.#isCurrent(slot)) {
      // No caller will get this card, so release it here.
      if (result.status === 'card' && result.isNew) await result.card.release()
      return
    }
    if (result.status === 'card') {
      forget(slot)
      if (isContactCard(result.card.atr) && !this.#acceptsContactCard(slot)) {
        slot.stage = 'passed-over'
        return result.card.release()
      }
      slot.stage = 'announced'
      return this.#emit({ type: 'card', reader: slot.at.name, card: result.card })
    }
    slot.stage = 'seen'
    slot.refusals += 1
    if (result.why === 'in-use' || result.why === 'mute') this.#reportTrouble(slot, result.why)
    else if (slot.refusals >= maxGoneTimes) this.#reportTrouble(slot, 'mute')
    slot.retrying = setTimeout(() => this.#tryConnect(slot), pauseMs(slot.refusals, result.why))
  }

  #acceptsContactCard({ at: { name } }: Slot): boolean {
    return this.#options.readers({ name, isContact: true })
  }

  #isCurrent(slot: Slot): boolean {
    return !this.#stopped && this.#slots.get(slot.at.name) === slot
  }

  /** Reports a lasting problem, once. */
  #reportTrouble(slot: Slot, trouble: Trouble): void {
    if (slot.trouble === trouble) return
    slot.trouble = trouble
    clearTimeout(slot.reportTimer)
    const report = async () => {
      const users = trouble === 'in-use' ? await this.#options.users() : []
      if (!this.#isCurrent(slot) || slot.stage === 'announced' || slot.trouble !== trouble) return
      this.#emit({ type: 'card-unusable', reader: slot.at.name, why: new NoCard(trouble, users) })
    }
    slot.reportTimer = setTimeout(() => void report(), (this.#options.patience ?? patience)[trouble])
  }
}

const forget = ({ reportTimer, retrying }: Slot): void => {
  clearTimeout(reportTimer)
  clearTimeout(retrying)
}

/** Random, so that two programs that try in step do not go on refusing each other. */
function pauseMs(refusals: number, why: Refusal): number {
  if (why !== 'in-use') return maxPauseMs
  return Math.min(minPauseMs * growth ** (refusals - 1), maxPauseMs) * (0.5 + Math.random() / 2)
}
