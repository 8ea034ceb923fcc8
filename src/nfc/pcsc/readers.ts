import { PassThrough } from 'node:stream'
import {
  type Card,
  type CardReader,
  type CardReaders,
  NoCard,
  NoReader,
  type ReaderEvent,
  type ReaderFilter,
  type ReaderUser,
  type WaitForCard,
  type WatchOptions,
} from '../card.ts'
import { CardWatch } from './card-watch.ts'
import type { Timeouts } from './host-process.ts'
import { HostSupervisor } from './host-supervisor.ts'
import { ConnectedCards } from './pcsc-card.ts'
import type { BackendName } from './protocol.ts'
import { readerUsers } from './reader-users.ts'
import { readerErrors, readerWords } from './unavailable.ts'

export interface PcscSettings {
  /** The script of the child process that talks to PC/SC: `dist/reader-host.cjs`. */
  readonly hostScript: string
  /** Default: nfc-pcsc where it is built, else pcsc-mini. */
  readonly backend?: BackendName
  /** The child's environment. PCSCLITE_CSOCK_NAME says where pcscd listens. Default: this process's own. */
  readonly env?: NodeJS.ProcessEnv
  readonly timeouts?: Timeouts
  /** Whose words errors have. Default: this computer's. */
  readonly platform?: NodeJS.Platform
  /** Milliseconds before the first new attempt after an outage, while somebody listens to events. */
  readonly retryMs?: number
}

const anyReader: ReaderFilter = () => true

const defaultTimeouts: Timeouts = { start: 8_000, command: 15_000, ping: 4_000 }

/** The readers that PC/SC knows. Nothing is started before the first call; `close` ends everything. */
export class PcscReaders implements CardReaders {
  readonly #supervisor: HostSupervisor
  readonly #watches = new Set<CardWatch>()
  readonly #cards: ConnectedCards
  readonly #plugIn: string
  readonly #env: NodeJS.ProcessEnv

  constructor(settings: PcscSettings) {
    const { hostScript, backend, env, timeouts, platform = process.platform, retryMs = 250 } = settings
    this.#env = env ?? process.env
    const errors = readerErrors(platform)
    this.#cards = new ConnectedCards(errors)
    this.#plugIn = readerWords(platform).plugIn
    const host = {
      script: hostScript,
      env: this.#env,
      timeouts: timeouts ?? defaultTimeouts,
      errors,
      ...(backend === undefined ? {} : { backend }),
    }
    this.#supervisor = new HostSupervisor(host, retryMs, {
      onReaders: (readers) => {
        this.#cards.update(readers)
        for (const watch of [...this.#watches]) watch.update(readers)
      },
      onDown: (error) => {
        this.#cards.update([])
        for (const watch of [...this.#watches]) watch.down(error)
      },
    })
  }

  /** The library in use, and the process that it runs in. @throws ReaderUnavailable */
  async host(): Promise<{ readonly backend: BackendName; readonly pid: number | undefined }> {
    const { backend, process } = await this.#supervisor.ensureRunning()
    return { backend, pid: process.pid }
  }

  async list(): Promise<readonly CardReader[]> {
    const { readers } = await this.#supervisor.ensureRunning()
    return readers.map(({ name, state, isContact, hasContactCard }) => ({
      ...{ name, state },
      isContact: isContact || hasContactCard,
    }))
  }

  async waitForCard(wait: WaitForCard = {}): Promise<Card> {
    const { reader: readerName, readers = anyReader, timeoutMs, signal } = wait
    signal?.throwIfAborted()
    const host = await this.#supervisor.ensureRunning()
    signal?.throwIfAborted()
    const isAllowed: ReaderFilter = (reader) =>
      (readerName === undefined || reader.name === readerName) && readers(reader)
    const candidates = () => host.readers.filter(isAllowed)
    const noReader = () =>
      new NoReader(
        readerName,
        host.readers.map(({ name }) => name),
        this.#plugIn,
      )
    if (candidates().length === 0) throw noReader()

    const { promise, resolve, reject } = deferred<Card>()
    // From then on, a card on a second reader is let go instead of given.
    const settle = (how: () => unknown) => {
      watch.stop()
      how()
    }
    const watch = this.#watch(isAllowed, (event) => {
      if (event.type === 'card') settle(() => resolve(event.card))
      else if (event.type === 'card-unusable') wait.onUnusable?.(event.why, event.reader)
      else if (event.type === 'unavailable') settle(() => reject(event.error))
      else if (
        event.type === 'reader-removed' &&
        candidates().length === 0 &&
        host === this.#supervisor.running
      )
        settle(() => reject(noReader()))
    })
    const timedOut = async () => {
      const { trouble } = watch
      watch.stop()
      reject(new NoCard(trouble, trouble === 'in-use' ? await this.#users() : []))
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => void timedOut(), timeoutMs)
    const abort = () => settle(() => reject(signal?.reason))
    signal?.addEventListener('abort', abort, { once: true })
    watch.update(host.readers)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      this.#unwatch(watch)
    }
  }

  async *events({
    signal,
    readers = anyReader,
  }: WatchOptions = {}): AsyncGenerator<ReaderEvent, void, undefined> {
    if (signal?.aborted) return
    const host = await this.#supervisor.ensureRunning()
    const queue = new PassThrough({ objectMode: true })
    const finished = new AbortController()
    const over = AbortSignal.any([
      this.#supervisor.closing,
      finished.signal,
      ...(signal === undefined ? [] : [signal]),
    ])
    over.addEventListener('abort', () => queue.end(), { once: true })
    const watch = this.#watch(readers, (event) => {
      if (queue.writable) queue.write(event)
      if (event.type === 'unavailable') void this.#supervisor.reconnect(over)
    })
    if (over.aborted) queue.end()
    watch.update(host.readers)
    try {
      yield* queue
    } finally {
      finished.abort()
      this.#unwatch(watch)
    }
  }

  close(): Promise<void> {
    return this.#supervisor.close(() => this.#cards.release())
  }

  /** The programs that a person may have to close. */
  #users(): Promise<readonly ReaderUser[]> {
    return readerUsers(this.#env, [process.pid, this.#supervisor.running?.process.pid])
  }

  #watch(readers: ReaderFilter, emit: (event: ReaderEvent) => void): CardWatch {
    const watch = new CardWatch({
      readers,
      emit,
      users: () => this.#users(),
      connect: async (at) => {
        const { running } = this.#supervisor
        return running === undefined
          ? { status: 'refused', why: 'service' }
          : this.#cards.connect(running, at)
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
