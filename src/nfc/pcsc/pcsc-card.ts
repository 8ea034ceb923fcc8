import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardGone, type Outcome } from '../card.ts'
import type { ConnectResult } from './card-watch.ts'
import type { HostCommand } from './host-process.ts'
import type { RunningHost } from './host-supervisor.ts'
import type { HostResponse, ReaderSnapshot } from './protocol.ts'
import { signalOf } from './reader-signals.ts'
import type { ReaderErrors } from './unavailable.ts'

type SendToHost = (command: HostCommand) => Promise<HostResponse>

/** A reader that hangs may never answer. */
const releaseTimeoutMs = 1_000
const signalTimeoutMs = 1_500

/** A card that the child process is connected to. */
class PcscCard implements Card {
  readonly reader: string
  readonly presence: number
  readonly atr: Uint8Array
  #state: 'connected' | 'released' | 'lost' = 'connected'
  readonly #send: SendToHost
  readonly #errors: ReaderErrors
  #resolveRemoved: () => void = () => undefined
  readonly #removed = new Promise<void>((resolve) => {
    this.#resolveRemoved = resolve
  })

  constructor(at: ReaderSnapshot, atr: Uint8Array, send: SendToHost, errors: ReaderErrors) {
    this.reader = at.name
    this.presence = at.presence
    this.atr = Uint8Array.from(atr)
    this.#send = send
    this.#errors = errors
  }

  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  async transmit(apdu: Uint8Array): Promise<Uint8Array> {
    if (this.#state === 'released') throw new Error('This card was released: wait for it again')
    if (this.#state === 'lost') throw new CardGone()
    const { reader, presence } = this
    const response = await this.#send({ type: 'transmit', reader, presence, apdu }).catch(
      (error: unknown) => {
        this.#state = 'lost'
        throw error
      },
    )
    if (response.status === 'done') return Uint8Array.from(response.data)
    this.#state = 'lost'
    if (response.why === 'service') throw this.#errors.stopped()
    throw new CardGone({ cause: new Error(response.message) })
  }

  removed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (signal === undefined) return this.#removed
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      void this.#removed.then(() => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
    })
  }

  async signal(outcome: Outcome): Promise<void> {
    if (this.#state !== 'connected') return
    const { reader, presence } = this
    const sound = async () => {
      for (const step of signalOf(reader, outcome)) {
        if ('pauseMs' in step) await delay(step.pauseMs)
        else await this.#send({ ...step, reader, presence })
      }
    }
    await Promise.race([sound().catch(() => undefined), delay(signalTimeoutMs, undefined, { ref: false })])
  }

  async release(): Promise<void> {
    if (this.#state !== 'connected') return
    this.#state = 'released'
    const { reader, presence } = this
    const released = this.#send({ type: 'release', reader, presence }).catch(() => undefined)
    await Promise.race([released, delay(releaseTimeoutMs, undefined, { ref: false })])
  }

  markRemoved(): void {
    this.#state = 'lost'
    this.#resolveRemoved()
  }
}

/** The cards that are connected to: one per reader, shared by everyone who waits for it. */
export class ConnectedCards {
  readonly #errors: ReaderErrors
  readonly #cards = new Map<string, PcscCard>()
  readonly #connecting = new Map<
    string,
    { readonly presence: number; readonly result: Promise<ConnectResult> }
  >()

  constructor(errors: ReaderErrors) {
    this.#errors = errors
  }

  /** Connects to the card on a reader, unless a connection to it exists. */
  connect(host: RunningHost, at: ReaderSnapshot): Promise<ConnectResult> {
    const card = this.#cards.get(at.name)
    if (card?.isConnected && card.presence === at.presence)
      return Promise.resolve({ status: 'card', card, isNew: false })
    const pending = this.#connecting.get(at.name)
    if (pending?.presence === at.presence) return pending.result
    const result = this.#connect(host, at).finally(() => {
      if (this.#connecting.get(at.name)?.result === result) this.#connecting.delete(at.name)
    })
    this.#connecting.set(at.name, { presence: at.presence, result })
    return result
  }

  async #connect({ process, isPresent }: RunningHost, at: ReaderSnapshot): Promise<ConnectResult> {
    const { name: reader, presence } = at
    const response = await process.send({ type: 'connect', reader, presence }).catch(() => undefined)
    if (response === undefined) return { status: 'refused', why: 'service' }
    if (response.status === 'refused') return { status: 'refused', why: response.why }
    if (!isPresent(at)) return { status: 'refused', why: 'gone' }
    // An earlier object for the same presence was released or lost its connection, but its `removed` still counts.
    const before = this.#cards.get(reader)
    const card = new PcscCard(at, response.data, (command) => process.send(command), this.#errors)
    if (before !== undefined) void card.removed().then(() => before.markRemoved())
    this.#cards.set(reader, card)
    return { status: 'card', card, isNew: true }
  }

  /** Marks the cards that are no longer on their readers as removed. */
  update(readers: readonly ReaderSnapshot[]): void {
    for (const card of [...this.#cards.values()]) {
      if (readers.some(({ name, presence }) => name === card.reader && presence === card.presence)) continue
      this.#cards.delete(card.reader)
      card.markRemoved()
    }
  }

  async release(): Promise<void> {
    await Promise.all([...this.#cards.values()].map((card) => card.release()))
  }
}
