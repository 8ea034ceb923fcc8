import type { Connected } from './card-watch.ts'
import { PcscCard } from './pcsc-card.ts'
import type { ReaderSnapshot } from './protocol.ts'
import type { Session } from './session.ts'

/** The cards that are connected to: one for each reader, shared by all who wait for it. */
export class HeldCards {
  readonly #cards = new Map<string, PcscCard>()
  readonly #connecting = new Map<string, { readonly presence: number; readonly result: Promise<Connected> }>()

  /** The card that lies on a reader; connects to it unless it is held already. */
  connect(session: Session, at: ReaderSnapshot): Promise<Connected> {
    const card = this.#cards.get(at.name)
    if (card?.held && card.presence === at.presence) return Promise.resolve({ status: 'card', card })
    const underWay = this.#connecting.get(at.name)
    if (underWay?.presence === at.presence) return underWay.result
    const result = this.#ask(session, at).finally(() => {
      if (this.#connecting.get(at.name)?.result === result) this.#connecting.delete(at.name)
    })
    this.#connecting.set(at.name, { presence: at.presence, result })
    return result
  }

  async #ask({ host, present }: Session, at: ReaderSnapshot): Promise<Connected> {
    const { name: reader, presence } = at
    const outcome = await host.ask({ type: 'connect', reader, presence }).catch(() => undefined)
    if (outcome === undefined) return { status: 'refused', why: 'service' }
    if (outcome.status === 'refused') return { status: 'refused', why: outcome.why }
    if (!present(at)) return { status: 'refused', why: 'gone' }
    // The one before, of the same presence, was let go of or lost its connection: it still learns when the card leaves.
    const before = this.#cards.get(reader)
    const card = new PcscCard(at, outcome.data, (ask) => host.ask(ask))
    if (before !== undefined) void card.removed().then(() => before.leave())
    this.#cards.set(reader, card)
    return { status: 'card', card }
  }

  /** Tells the cards that are no longer on their readers. */
  seen(readers: readonly ReaderSnapshot[]): void {
    for (const card of [...this.#cards.values()]) {
      if (readers.some(({ name, presence }) => name === card.reader && presence === card.presence)) continue
      this.#cards.delete(card.reader)
      card.leave()
    }
  }

  async release(): Promise<void> {
    await Promise.all([...this.#cards.values()].map((card) => card.release()))
  }
}
