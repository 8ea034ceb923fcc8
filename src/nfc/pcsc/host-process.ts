import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { ReaderUnavailable } from '../card.ts'
import {
  type BackendName,
  type FromHost,
  fromHost,
  type Outcome,
  type ReaderSnapshot,
  type Request,
  type ToHost,
} from './protocol.ts'
import { broken, noBackend, silent } from './unavailable.ts'

type Unnumbered<R> = R extends Request ? Omit<R, 'id'> : never
export type Ask = Unnumbered<Request>

/** How long the child may take before it is taken for hung, in milliseconds. */
export interface Patience {
  readonly start: number
  /** To connect to a card, and for each command: a chip may take its time. */
  readonly command: number
  /** It is asked so often whether it is still there, and has as long to answer. */
  readonly ping: number
}

export interface HostSettings {
  /** The child's script: `dist/reader-host.cjs`. */
  readonly script: string
  /** Default: nfc-pcsc where it is built, else pcsc-mini. */
  readonly backend?: BackendName
  readonly env: NodeJS.ProcessEnv
  readonly patience: Patience
}

interface Pending {
  resolve(outcome: Outcome): void
  reject(error: ReaderUnavailable): void
  readonly clock: NodeJS.Timeout
}

/** The child process that holds PC/SC, as its parent sees it: asked, watched, and ended at the first sign of trouble. */
export class HostProcess {
  /** Why there is nothing more to expect of it. */
  readonly ended: Promise<ReaderUnavailable>
  /** Which backend it took, once it has its first readers. */
  readonly ready: Promise<BackendName>
  readonly pid: number | undefined
  #end: (error: ReaderUnavailable) => void = () => undefined
  #setReady: (backend: BackendName) => void = () => undefined
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #settings: HostSettings
  readonly #onReaders: (readers: readonly ReaderSnapshot[]) => void
  readonly #pending = new Map<number, Pending>()
  readonly #startClock: NodeJS.Timeout
  #pinging: NodeJS.Timeout | undefined
  #lastId = 0
  #over: ReaderUnavailable | undefined
  #backend: BackendName | undefined

  constructor(settings: HostSettings, onReaders: (readers: readonly ReaderSnapshot[]) => void) {
    this.#settings = settings
    this.#onReaders = onReaders
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.ready = new Promise((resolve) => {
      this.#setReady = resolve
    })
    const { script, env, backend, patience } = settings
    this.#child = fork(script, [], {
      env,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.pid = this.#child.pid
    this.#exited = once(this.#child, 'exit').catch(() => undefined)
    this.#child.on('message', (raw) => {
      const message = fromHost.safeParse(raw)
      if (message.success) this.#hear(message.data)
      else void this.stop(broken('it said what nobody understands'))
    })
    this.#child.on('error', (error) => this.stop(broken(error.message)))
    this.#child.on('exit', (code, signal) => this.stop(broken(signal ?? `exit code ${code}`)))
    this.#startClock = setTimeout(() => this.stop(silent('it took too long to begin')), patience.start)
    this.#say({ type: 'start', ...(backend === undefined ? {} : { backend }) })
  }

  /** @throws ReaderUnavailable when the child ends before it has answered */
  ask(ask: Ask): Promise<Outcome> {
    if (this.#over !== undefined) return Promise.reject(this.#over)
    const id = ++this.#lastId
    const { command, ping } = this.#settings.patience
    return new Promise((resolve, reject) => {
      const late = () => this.stop(silent(`${ask.type} took too long`))
      this.#pending.set(id, {
        resolve,
        reject,
        clock: setTimeout(late, ask.type === 'ping' ? ping : command),
      })
      this.#say({ ...ask, id })
    })
  }

  /** Ends it, whatever it does; resolves when it is gone. Nothing else ends it for sure: its threads may hang. */
  async stop(error: ReaderUnavailable): Promise<void> {
    if (this.#over === undefined) {
      this.#over = error
      clearTimeout(this.#startClock)
      clearTimeout(this.#pinging)
      for (const { clock, reject } of this.#pending.values()) {
        clearTimeout(clock)
        reject(error)
      }
      this.#pending.clear()
      this.#child.kill('SIGKILL')
      this.#end(error)
    }
    if (this.pid !== undefined) await this.#exited
  }

  #say(message: ToHost): void {
    // An error here means that it is gone, which its exit tells as well.
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #hear(message: FromHost): void {
    if (this.#over !== undefined) return
    switch (message.type) {
      case 'started':
        this.#backend = message.backend
        break
      case 'readers':
        this.#onReaders(message.readers)
        this.#begun()
        break
      case 'answer':
        this.#answered(message.id, message.outcome)
        break
      case 'failed':
        void this.stop(message.why === 'no-backend' ? noBackend(message.message) : broken(message.message))
    }
  }

  #answered(id: number, outcome: Outcome): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    clearTimeout(pending?.clock)
    pending?.resolve(outcome)
  }

  #begun(): void {
    if (this.#pinging !== undefined || this.#backend === undefined) return
    clearTimeout(this.#startClock)
    this.#setReady(this.#backend)
    this.#ping()
  }

  #ping(): void {
    this.#pinging = setTimeout(() => {
      this.ask({ type: 'ping' }).then(
        () => this.#ping(),
        () => undefined,
      )
    }, this.#settings.patience.ping)
  }
}
