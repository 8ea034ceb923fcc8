import { setTimeout as later } from 'node:timers/promises'
import { BackgroundLoop } from '../../values/background-loop.ts'
import type { Mail, MailServer, SendResult } from './smtp.ts'

/** A mail to be sent. Times are in milliseconds. */
export interface MailJob {
  id: number
  attempts: number
  /** When sending it no longer makes sense. */
  until: number
  /** Undefined: another mail has replaced it, or there is nobody to send it to any more. */
  mail: Mail | undefined
}

export interface MailStore {
  due(now: number, limit: number): Promise<readonly MailJob[]>
  /** True once an attempt at it has ended, at any daemon. */
  isTried(id: number): Promise<boolean>
  sent(id: number): Promise<unknown>
  later(job: Pick<MailJob, 'id' | 'attempts'>, at: number, reason: string): Promise<unknown>
  giveUp(id: number, reason: string): Promise<unknown>
}

interface MailQueueSettings {
  store: MailStore
  server: MailServer
  clock: { now(): number; monotonic(): number }
  /** Called with each attempt. */
  tried(outcome: SendResult['kind']): void
  failed(error: unknown): void
  /** Absent: no other daemon uses the store. */
  election?: { readonly isLeader: boolean; check(): Promise<boolean> }
  everyMs?: number
}

const atOnce = 5
const second = 1000
/** Between attempts; the last one repeats. */
const pausesMs = [5, 30, 120, 600, 3600].map((seconds) => seconds * second)
const maxAttempts = 12
/** A daemon that sends no mails looks this often for those that another has tried. */
const lookMs = 200
/** After the server could not be reached, no other mail is tried for this long. */
const quietMs = 5 * second

/** Sends waiting mails: each at least once, with the same Message-ID, also after a crash. */
export class MailQueue {
  readonly #settings: MailQueueSettings
  readonly #loop: BackgroundLoop<number>
  readonly #waiting = new Map<number, Set<() => void>>()
  /** Monotonic. */
  #quietUntil = 0

  constructor(settings: MailQueueSettings) {
    this.#settings = settings
    const { failed, everyMs = 2000 } = settings
    this.#loop = new BackgroundLoop({ run: () => this.#work(), restMs: () => everyMs, failed })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  wake(): void {
    this.#loop.wake()
  }

  /** Sends what is due; concurrent calls share one run. @returns the number of attempts */
  tick(): Promise<number> {
    return this.#loop.tick()
  }

  /** Resolves once the first attempt at a mail has ended, and after `withinMs` at the latest. */
  async tried(id: number, withinMs: number): Promise<void> {
    const { store, election } = this.#settings
    if (election?.isLeader === false) {
      const until = performance.now() + withinMs
      while (performance.now() < until && !(await store.isTried(id))) await later(lookMs)
      return
    }
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, withinMs)
      waiting.add(done)
      this.wake()
      function done() {
        clearTimeout(timer)
        waiting.delete(done)
        resolve()
      }
    })
    if (waiting.size === 0) this.#waiting.delete(id)
  }

  async #work(): Promise<number> {
    const { store, clock, election, failed } = this.#settings
    if ((await election?.check()) === false) return 0
    let count = 0
    const jobs = [...(await store.due(clock.now(), 50))]
    const worker = async () => {
      for (let job = jobs.shift(); job; job = jobs.shift()) {
        if (this.#loop.isEnding || election?.isLeader === false) return
        if (clock.monotonic() < this.#quietUntil) return
        count += 1
        await this.#send(job).catch(failed)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    return count
  }

  async #send({ id, attempts, until, mail }: MailJob): Promise<void> {
    const { store, server, clock, tried } = this.#settings
    const isLate = clock.now() >= until
    const result: SendResult =
      mail && !isLate
        ? await server.send(mail)
        : {
            kind: 'refused',
            reason: isLate ? 'it could not be sent in time' : 'another mail has replaced it',
          }
    if (mail && !isLate) tried(result.kind)
    if (result.kind === 'sent') await store.sent(id)
    else if (result.kind === 'refused') await store.giveUp(id, result.reason)
    else {
      if (result.scope === 'server') this.#quietUntil = clock.monotonic() + quietMs
      const at = clock.now() + (pausesMs[Math.min(attempts, pausesMs.length - 1)] ?? 0)
      const isLast = attempts + 1 >= maxAttempts || at >= until
      await (isLast ? store.giveUp(id, result.reason) : store.later({ id, attempts }, at, result.reason))
    }
    for (const resolve of this.#waiting.get(id) ?? []) resolve()
  }
}
