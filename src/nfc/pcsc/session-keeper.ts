import { setTimeout as delay } from 'node:timers/promises'
import type { ReaderUnavailable } from '../card.ts'
import type { HostSettings } from './host-process.ts'
import type { ReaderSnapshot } from './protocol.ts'
import { openSession, type Session } from './session.ts'
import { closed } from './unavailable.ts'

export interface SessionListener {
  /** What the readers look like now. */
  readers(readers: readonly ReaderSnapshot[]): void
  /** The session is over; the next comes when somebody asks for it. */
  down(error: ReaderUnavailable): void
}

/** A session that ended sooner is taken for one that cannot live: the next is begun later and later. */
const shortLifeMs = 2_000
const longestPauseMs = 1_000

/** Has at most one session, begun when it is wanted. */
export class SessionKeeper {
  readonly #settings: HostSettings
  readonly #retryMs: number
  readonly #listener: SessionListener
  readonly #closing = new AbortController()
  #session: Session | undefined
  #opening: Promise<Session> | undefined
  #since = 0
  #shortLives = 0

  /** @param retryMs how soon after an outage it is tried again */
  constructor(settings: HostSettings, retryMs: number, listener: SessionListener) {
    this.#settings = settings
    this.#retryMs = retryMs
    this.#listener = listener
  }

  /** Aborted when nothing is to be begun any more. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get session(): Session | undefined {
    return this.#session
  }

  /** The session that there is, or a new one. @throws ReaderUnavailable */
  async up(): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** After an outage: tries until there is a session again, or nobody wants one any more. */
  async comeBack(over: AbortSignal): Promise<void> {
    let pause = this.#retryMs * 2 ** this.#shortLives
    while (!over.aborted && this.#session === undefined) {
      await delay(pause, undefined, { signal: over }).catch(() => undefined)
      pause = Math.min(pause * 2, longestPauseMs)
      if (!over.aborted) await this.up().catch(() => undefined)
    }
  }

  /** @param farewell what the session is still needed for */
  async close(farewell: () => Promise<void>): Promise<void> {
    this.#closing.abort()
    await this.#opening?.catch(() => undefined)
    await farewell()
    await this.#session?.host.stop(closed())
  }

  async #open(): Promise<Session> {
    if (this.#closing.signal.aborted) throw closed()
    const look = (readers: readonly ReaderSnapshot[]) => {
      if (this.#session !== undefined) this.#listener.readers(readers)
    }
    const session = await openSession(this.#settings, look, this.#closing.signal)
    this.#session = session
    this.#since = performance.now()
    void session.host.ended.then((error) => this.#down(error))
    this.#listener.readers(session.readers)
    return session
  }

  #down(error: ReaderUnavailable): void {
    this.#session = undefined
    const short = performance.now() - this.#since < shortLifeMs
    this.#shortLives = short ? Math.min(this.#shortLives + 1, 5) : 0
    this.#listener.down(error)
  }
}
