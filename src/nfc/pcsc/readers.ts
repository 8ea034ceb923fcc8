import {
  type Card,
  type CardReader,
  type CardReaders,
  NoCard,
  NoReader,
  type ReaderEvent,
  type WaitForCard,
} from '../card.ts'
import { CardWatch } from './card-watch.ts'
import { EventQueue } from './event-queue.ts'
import { HeldCards } from './held-cards.ts'
import type { Patience } from './host-process.ts'
import type { BackendName } from './protocol.ts'
import { SessionKeeper } from './session-keeper.ts'

export interface PcscSettings {
  /** The script of the child process that talks to PC/SC: `dist/reader-host.cjs`. */
  readonly hostScript: string
  /** Default: nfc-pcsc where it is built, else pcsc-mini. */
  readonly backend?: BackendName
  /** The child's environment. PCSCLITE_CSOCK_NAME says where pcscd listens. Default: this process's own. */
  readonly env?: NodeJS.ProcessEnv
  readonly patience?: Patience
  /** After an outage it is tried again so often while somebody listens to events, in milliseconds. */
  readonly retryMs?: number
}

const defaultPatience: Patience = { start: 8_000, command: 15_000, ping: 4_000 }

/** The readers that PC/SC knows. Nothing is started before the first call; `close` ends all of it. */
export class PcscReaders implements CardReaders {
  readonly #keeper: SessionKeeper
  readonly #watches = new Set<CardWatch>()
  readonly #cards = new HeldCards()

  constructor({ hostScript, backend, env, patience, retryMs = 250 }: PcscSettings) {
    const settings = {
      script: hostScript,
      env: env ?? process.env,
      patience: patience ?? defaultPatience,
      ...(backend === undefined ? {} : { backend }),
    }
    this.#keeper = new SessionKeeper(settings, retryMs, {
      readers: (readers) => {
        this.#cards.seen(readers)
        for (const watch of [...this.#watches]) watch.readers(readers)
      },
      down: (error) => {
        this.#cards.seen([])
        for (const watch of [...this.#watches]) watch.down(error)
      },
    })
  }

  /** Which library serves, and the process that it lives in. @throws ReaderUnavailable */
  async host(): Promise<{ readonly backend: BackendName; readonly pid: number | undefined }> {
    const { backend, host } = await this.#keeper.up()
    return { backend, pid: host.pid }
  }

  async list(): Promise<readonly CardReader[]> {
    const { readers } = await this.#keeper.up()
    return readers.map(({ name, state }) => ({ name, state }))
  }

  async waitForCard({ reader: wanted, timeoutMs, signal }: WaitForCard = {}): Promise<Card> {
    signal?.throwIfAborted()
    const session = await this.#keeper.up()
    signal?.throwIfAborted()
    const candidates = () => session.readers.filter(({ name }) => wanted === undefined || name === wanted)
    const noReader = () =>
      new NoReader(
        wanted,
        session.readers.map(({ name }) => name),
      )
    if (candidates().length === 0) throw noReader()

    const { promise, resolve, reject } = deferred<Card>()
    let trouble: 'in-use' | 'mute' | undefined
    const watch = this.#watch(wanted, (event) => {
      if (event.type === 'card') resolve(event.card)
      else if (event.type === 'card-unusable') trouble = event.state
      else if (event.type === 'unavailable') reject(event.error)
      else if (
        event.type === 'reader-removed' &&
        candidates().length === 0 &&
        session === this.#keeper.session
      )
        reject(noReader())
    })
    const late = () =>
      reject(new NoCard(candidates().some(({ presence }) => presence > 0) ? trouble : 'empty'))
    const clock = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs)
    const abort = () => reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    watch.readers(session.readers)
    try {
      return await promise
    } finally {
      clearTimeout(clock)
      signal?.removeEventListener('abort', abort)
      this.#unwatch(watch)
    }
  }

  async *events({
    signal,
  }: {
    readonly signal?: AbortSignal
  } = {}): AsyncGenerator<ReaderEvent, void, undefined> {
    if (signal?.aborted) return
    const session = await this.#keeper.up()
    const queue = new EventQueue<ReaderEvent>()
    const enough = new AbortController()
    const over = AbortSignal.any([
      this.#keeper.closing,
      enough.signal,
      ...(signal === undefined ? [] : [signal]),
    ])
    over.addEventListener('abort', () => queue.end(), { once: true })
    const watch = this.#watch(undefined, (event) => {
      queue.push(event)
      if (event.type === 'unavailable') void this.#keeper.comeBack(over)
    })
    if (over.aborted) queue.end()
    watch.readers(session.readers)
    try {
      yield* queue.items()
    } finally {
      enough.abort()
      this.#unwatch(watch)
    }
  }

  close(): Promise<void> {
    return this.#keeper.close(() => this.#cards.release())
  }

  #watch(wanted: string | undefined, emit: (event: ReaderEvent) => void): CardWatch {
    const watch = new CardWatch({
      wanted,
      emit,
      connect: async (at) => {
        const { session } = this.#keeper
        return session === undefined
          ? { status: 'refused', why: 'service' }
          : this.#cards.connect(session, at)
      },
    })
    this.#watches.add(watch)
    return watch
  }

  #unwatch(watch: CardWatch): void {
    this.#watches.delete(watch)
    watch.stop()
  }
}

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
