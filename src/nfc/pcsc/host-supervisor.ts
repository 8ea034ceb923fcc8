import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ReaderUnavailable } from '../card.ts'
import { HostProcess, type HostSettings } from './host-process.ts'
import type { BackendName, ReaderSnapshot } from './protocol.ts'

/** One life of pcscd and of the child process that talks to it: when either ends, both are given up. */
export interface RunningHost {
  readonly backend: BackendName
  readonly process: HostProcess
  readonly readers: readonly ReaderSnapshot[]
  isPresent(card: ReaderSnapshot): boolean
}

export interface HostListener {
  onReaders(readers: readonly ReaderSnapshot[]): void
  onDown(error: ReaderUnavailable): void
}

/** A host that ends sooner is assumed to be unable to live: pauses before the next ones grow. */
const shortLifeMs = 2_000
const maxPauseMs = 1_000

/** Keeps at most one host running, started on demand. */
export class HostSupervisor {
  readonly #settings: HostSettings
  readonly #retryMs: number
  readonly #listener: HostListener
  readonly #closing = new AbortController()
  #running: RunningHost | undefined
  #starting: Promise<RunningHost> | undefined
  #startedAt = 0
  #shortLives = 0

  /** @param retryMs the pause after an outage before the first new attempt */
  constructor(settings: HostSettings, retryMs: number, listener: HostListener) {
    this.#settings = settings
    this.#retryMs = retryMs
    this.#listener = listener
  }

  /** Aborted as soon as `close` is called. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get running(): RunningHost | undefined {
    return this.#running
  }

  /** @throws ReaderUnavailable */
  async ensureRunning(): Promise<RunningHost> {
    if (this.#running !== undefined) return this.#running
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  /** Retries after an outage until a host runs or the signal is aborted. */
  async reconnect(signal: AbortSignal): Promise<void> {
    let pause = this.#retryMs * 2 ** this.#shortLives
    while (!signal.aborted && this.#running === undefined) {
      await delay(pause, undefined, { signal }).catch(() => undefined)
      pause = Math.min(pause * 2, maxPauseMs)
      if (!signal.aborted) await this.ensureRunning().catch(() => undefined)
    }
  }

  /** @param beforeStop runs while the host can still be asked */
  async close(beforeStop: () => Promise<void>): Promise<void> {
    this.#closing.abort()
    await this.#starting?.catch(() => undefined)
    await beforeStop()
    await this.#running?.process.stop(this.#settings.errors.closed())
  }

  async #start(): Promise<RunningHost> {
    if (this.#closing.signal.aborted) throw this.#settings.errors.closed()
    const onReaders = (readers: readonly ReaderSnapshot[]) => {
      if (this.#running !== undefined) this.#listener.onReaders(readers)
    }
    const running = await startHost(this.#settings, onReaders, this.#closing.signal)
    this.#running = running
    this.#startedAt = performance.now()
    void running.process.ended.then((error) => this.#onHostDown(error))
    this.#listener.onReaders(running.readers)
    return running
  }

  #onHostDown(error: ReaderUnavailable): void {
    this.#running = undefined
    const isShort = performance.now() - this.#startedAt < shortLifeMs
    this.#shortLives = isShort ? Math.min(this.#shortLives + 1, 5) : 0
    this.#listener.onDown(error)
  }
}

/**
 * Resolves when the readers are known.
 * @param onReaders called with all readers whenever one of them changes
 * @param signal abandons the start
 * @throws ReaderUnavailable
 */
async function startHost(
  settings: HostSettings,
  onReaders: (readers: readonly ReaderSnapshot[]) => void,
  signal: AbortSignal,
): Promise<RunningHost> {
  const { errors } = settings
  const service = await connectToService(settings)
  let readers: readonly ReaderSnapshot[] = []
  const process = new HostProcess(settings, (now) => {
    readers = now
    onReaders(now)
  })
  let isReady = false
  void service.ended.then((error) => process.stop(isReady ? error : errors.connectionRefused()))
  void process.ended.then(() => service.close())
  const stop = () => void process.stop(errors.closed())
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const fail = (error: ReaderUnavailable) => Promise.reject(error)
  const backend = await Promise.race([process.ready, process.ended.then(fail)])
  isReady = true
  signal.removeEventListener('abort', stop)
  return {
    backend,
    process,
    get readers() {
      return readers
    },
    isPresent: ({ name, presence }) =>
      readers.some((reader) => reader.name === name && reader.presence === presence),
  }
}

interface ServiceConnection {
  readonly ended: Promise<ReaderUnavailable>
  close(): void
}

/**
 * An idle connection to pcscd, which closes when pcscd ends: this is faster and more reliable than the libraries' own
 * detection. Other systems start their readers' service by themselves.
 * @throws ReaderUnavailable in less than two seconds
 */
function connectToService({ env, errors }: HostSettings): Promise<ServiceConnection> {
  if (process.platform !== 'linux')
    return Promise.resolve({ ended: new Promise(() => undefined), close: () => undefined })
  // The libraries use the same variable and default.
  const path = env.PCSCLITE_CSOCK_NAME || '/run/pcscd/pcscd.comm'
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.setTimeout(1_500, () => socket.destroy(errors.notResponding('pcscd accepts no connection')))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EACCES' || error.code === 'EPERM') reject(errors.accessDenied(path, error))
      else reject(error.code === undefined ? error : errors.notRunning(error))
    })
    socket.once('connect', () => {
      socket.setTimeout(0)
      // Nothing is ever sent on it, but only a reading socket notices the end.
      socket.resume()
      resolve({
        ended: new Promise((resolveEnded) => socket.once('close', () => resolveEnded(errors.stopped()))),
        close: () => socket.destroy(),
      })
    })
  })
}
