import { stateBits } from './backend.ts'
import { isContactCard, isContactSlot } from './contact-slot.ts'
import type { ReaderSnapshot } from './protocol.ts'

interface Entry extends Omit<ReaderSnapshot, 'isContact'> {
  /** PC/SC's count of changes at this reader; always 0 with a backend that does not give it. */
  readonly changes: number
}

/** The readers and the numbered cards on them, so that no card is mistaken for its predecessor. */
export class ReaderTable {
  readonly #entries = new Map<string, Entry>()
  #lastPresence = 0

  status(name: string, bits: number, atr: Uint8Array = new Uint8Array()): void {
    const before = this.#entries.get(name)
    const changes = bits >>> 16
    const state = stateOf(bits)
    // A card swapped between two events shows only in the count.
    const same = before !== undefined && before.presence !== 0 && before.changes === changes
    const presence = state === 'empty' ? 0 : same ? before.presence : ++this.#lastPresence
    const hasContactCard = presence !== 0 && isContactCard(atr)
    this.#entries.set(name, { name, state, presence, changes, hasContactCard })
  }

  removed(name: string): void {
    this.#entries.delete(name)
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  /** The number of the card on a reader; 0 where there is none. */
  presence(name: string): number {
    return this.#entries.get(name)?.presence ?? 0
  }

  snapshot(): ReaderSnapshot[] {
    const names = [...this.#entries.keys()]
    return [...this.#entries.values()]
      .map(({ name, state, presence, hasContactCard }) => ({
        ...{ name, state, presence, hasContactCard },
        isContact: isContactSlot(name, names),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

function stateOf(bits: number): ReaderSnapshot['state'] {
  if (bits & stateBits.mute) return 'mute'
  if (!(bits & stateBits.present)) return 'empty'
  return bits & stateBits.exclusive ? 'in-use' : 'present'
}
