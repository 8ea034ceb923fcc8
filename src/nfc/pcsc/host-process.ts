import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { ReaderUnavailable } from '../card.ts'
import {
  type BackendName,
  type FromHost,
  fromHost,
  type HostRequest,
  type HostResponse,
  type ReaderSnapshot,
  type ToHost,
} from './protocol.ts'
import type { ReaderErrors } from './unavailable.ts'

type WithoutId<R> = R extends HostRequest ? Omit<R, 'id'> : never
export type HostCommand = WithoutId<HostRequest>

/** Milliseconds after which the child is considered hung. */
export interface Timeouts {
  readonly start: number
  /** For connecting to a card, and for each of its commands. */
  readonly command: number
  /** Both the pause between two pings and the time to answer one. */
  readonly ping: number
}

export interface HostSettings {
  /** The child's script: `dist/reader-host.cjs`. */
  readonly script: string
  /** Default: nfc-pcsc where it is built, else pcsc-mini. */
  readonly backend?: BackendName
  readonly env: NodeJS.ProcessEnv
  readonly timeouts: Timeouts
  readonly errors: ReaderErrors
}

interface PendingRequest {
  resolve(response: HostResponse): void
  reject(error: ReaderUnavailable): void
  readonly timer: NodeJS.Timeout
}

/** The parent's side of the child process that talks to PC/SC; it kills the child at the first sign of trouble. */
export class HostProcess {
  /** Resolves with the reason for the end. */
  readonly ended: Promise<ReaderUnavailable>
  /** Resolves with the chosen backend once the first readers are known. */
  readonly ready: Promise<BackendName>
  readonly pid: number | undefined
  #resolveEnded: (error: ReaderUnavailable) => void = () => undefined
  #resolveReady: (backend: BackendName) => void = () => undefined
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #settings: HostSettings
  readonly #onReaders: (readers: readonly ReaderSnapshot[]) => void
  readonly #pending = new Map<number, PendingRequest>()
  readonly #startTimer: NodeJS.Timeout
  #pingTimer: NodeJS.Timeout | undefined
  #lastId = 0
  #endReason: ReaderUnavailable | undefined
  #backend: BackendName | undefined

  constructor(settings: HostSettings, onReaders: (readers: readonly ReaderSnapshot[]) => void) {
    this.#settings = settings
    this.#onReaders = onReaders
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    this.ready = new Promise((resolve) => {
      this.#resolveReady = resolve
    })
    const { script, env, backend, timeouts, errors } = settings
    this.#child = fork(script, [], {
      env: {
        // Each command that a reader works on takes a thread, and there are four by default.
        UV_THREADPOOL_SIZE: '16',
        ...env,
        // pcscd's library repeats what pcscd refuses until it works. Where pcscd has let in another program beside us,
        // each would wait for the other. Source: winscard_clnt.c of pcsc-lite
        PCSCLITE_NO_BLOCKING: '1',
      },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.pid = this.#child.pid
    this.#exited = once(this.#child, 'exit').catch(() => undefined)
    this.#child.on('message', (raw) => {
      const message = fromHost.safeParse(raw)
      if (message.success) this.#receive(message.data)
      else void this.stop(errors.hostFailed('it sent an invalid message'))
    })
    this.#child.on('error', (error) => this.stop(errors.hostFailed(error.message)))
    this.#child.on('exit', (code, signal) => this.stop(errors.hostFailed(signal ?? `exit code ${code}`)))
    this.#startTimer = setTimeout(
      () => this.stop(errors.notResponding('start took too long')),
      timeouts.start,
    )
    this.#post({ type: 'start', ...(backend === undefined ? {} : { backend }) })
  }

  /** @throws ReaderUnavailable when the child ends before it responds */
  send(command: HostCommand): Promise<HostResponse> {
    if (this.#endReason !== undefined) return Promise.reject(this.#endReason)
    const id = ++this.#lastId
    const { timeouts, errors } = this.#settings
    return new Promise((resolve, reject) => {
      const timedOut = () => this.stop(errors.notResponding(`${command.type} took too long`))
      this.#pending.set(id, {
        resolve,
        reject,
        timer: setTimeout(timedOut, command.type === 'ping' ? timeouts.ping : timeouts.command),
      })
      this.#post({ ...command, id })
    })
  }

  /** Kills the child and resolves when it is gone. Only SIGKILL works for sure, since its threads may hang. */
  async stop(error: ReaderUnavailable): Promise<void> {
    if (this.#endReason === undefined) {
      this.#endReason = error
      clearTimeout(this.#startTimer)
      clearTimeout(this.#pingTimer)
      for (const { timer, reject } of this.#pending.values()) {
        clearTimeout(timer)
        reject(error)
      }
      this.#pending.clear()
      this.#child.kill('SIGKILL')
      this.#resolveEnded(error)
    }
    if (this.pid !== undefined) await this.#exited
  }

  #post(message: ToHost): void {
    // An error here means that the child is gone, which its exit event reports as well.
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #receive(message: FromHost): void {
    if (this.#endReason !== undefined) return
    switch (message.type) {
      case 'started':
        this.#backend = message.backend
        break
      case 'readers':
        this.#onReaders(message.readers)
        this.#onFirstReaders()
        break
      case 'response': {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        clearTimeout(pending?.timer)
        pending?.resolve(message.response)
        break
      }
      case 'failed': {
        const { noBackend, hostFailed } = this.#settings.errors
        void this.stop((message.why === 'no-backend' ? noBackend : hostFailed)(message.message))
      }
    }
  }

  #onFirstReaders(): void {
    if (this.#pingTimer !== undefined || this.#backend === undefined) return
    clearTimeout(this.#startTimer)
    this.#resolveReady(this.#backend)
    this.#ping()
  }

  #ping(): void {
    this.#pingTimer = setTimeout(() => {
      this.send({ type: 'ping' }).then(
        () => this.#ping(),
        () => undefined,
      )
    }, this.#settings.timeouts.ping)
  }
}
