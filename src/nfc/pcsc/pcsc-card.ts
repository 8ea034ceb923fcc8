import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardGone } from '../card.ts'
import type { Ask } from './host-process.ts'
import type { Outcome, ReaderSnapshot } from './protocol.ts'
import { wentAway } from './unavailable.ts'

/** Lets go of a card that a hung reader holds: not waited for any longer than this. */
const releaseMs = 1_000

/** A card that the child process is connected to. */
export class PcscCard implements Card {
  readonly reader: string
  readonly presence: number
  readonly atr: Uint8Array
  /** How it stands with the connection. */
  #state: 'held' | 'released' | 'lost' = 'held'
  readonly #ask: (ask: Ask) => Promise<Outcome>
  #leave: () => void = () => undefined
  readonly #left = new Promise<void>((resolve) => {
    this.#leave = resolve
  })

  constructor(at: ReaderSnapshot, atr: Uint8Array, ask: (ask: Ask) => Promise<Outcome>) {
    this.reader = at.name
    this.presence = at.presence
    this.atr = Uint8Array.from(atr)
    this.#ask = ask
  }

  /** Whether commands can be sent to it. */
  get held(): boolean {
    return this.#state === 'held'
  }

  async transmit(apdu: Uint8Array): Promise<Uint8Array> {
    if (this.#state === 'released') throw new Error('This card was let go of: wait for it anew')
    if (this.#state === 'lost') throw new CardGone()
    const { reader, presence } = this
    const outcome = await this.#ask({ type: 'transmit', reader, presence, apdu }).catch((error: unknown) => {
      this.#state = 'lost'
      throw error
    })
    if (outcome.status === 'done') return Uint8Array.from(outcome.data)
    this.#state = 'lost'
    if (outcome.why === 'service') throw wentAway()
    throw new CardGone({ cause: new Error(outcome.message) })
  }

  removed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (signal === undefined) return this.#left
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      void this.#left.then(() => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
    })
  }

  async release(): Promise<void> {
    if (this.#state !== 'held') return
    this.#state = 'released'
    const { reader, presence } = this
    const asked = this.#ask({ type: 'release', reader, presence }).catch(() => undefined)
    await Promise.race([asked, delay(releaseMs, undefined, { ref: false })])
  }

  /** It is no longer on its reader, or the reader is gone. */
  leave(): void {
    this.#state = 'lost'
    this.#leave()
  }
}
