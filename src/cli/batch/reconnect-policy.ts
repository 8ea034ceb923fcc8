import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError, UsageError } from '../errors.ts'

const defaultMs = 60_000
const everyMs = 500
/** A daemon that answers within this time is there, whatever became of the request. */
const answersWithinMs = 2_000
/** Cut requests to a daemon that answers, before the cause is taken to be in the request. */
const maxCut = 5
/** Requests that fail this close to each other are one failure. */
const sameFailureMs = 5_000

/** The daemon answers before its chains do. */
const isStarting = (error: unknown): boolean =>
  error instanceof ApiError && error.statusCode === 503 && error.message.startsWith('The daemon is starting')

/** The daemon is gone, or a proxy says so: a restart takes a moment. */
const isAway = (error: unknown): boolean =>
  error instanceof DaemonUnreachable ||
  isStarting(error) ||
  (error instanceof ApiError && error.code === 'not_tapchip' && [502, 503, 504].includes(error.statusCode))

/** Words and bounds of a wait. */
interface WaitOptions {
  /** Default: a minute, or TAPCHIP_PATIENCE_SECONDS. */
  readonly ms?: number
  readonly announce?: (error: unknown) => void
}

/** Waits for a daemon that restarts in the middle of a batch. */
export class ReconnectPolicy {
  readonly #client: Client
  readonly #signal: AbortSignal
  readonly #instance: string | undefined
  readonly #ms: number
  readonly #announce: (error: unknown) => void
  readonly #note: (what: string) => void
  #waiting: Promise<void> | undefined
  /** Failures of requests while the daemon answers. */
  #failures = { since: 0, last: 0, cut: 0 }

  constructor(
    ctx: CliContext,
    client: Client,
    signal: AbortSignal,
    instance: string | undefined,
    { ms, announce }: WaitOptions = {},
  ) {
    this.#client = client
    this.#signal = signal
    this.#instance = instance
    this.#ms = waitMs(ctx.system.env.TAPCHIP_PATIENCE_SECONDS) ?? ms ?? defaultMs
    this.#note = (what) =>
      ctx.io.note(`The daemon is ${what}. Waiting for it up to ${Math.round(this.#ms / 1000)} s.`)
    this.#announce = announce ?? (() => this.#note('not answering'))
  }

  /**
   * Resolves once the same daemon answers again, or at an interrupt. However many requests wait, one asks.
   * @throws the error, if that is not why, or it does not come back
   */
  async wait(error: unknown): Promise<void> {
    if (!isAway(error) || this.#signal.aborted) throw error
    this.#waiting ??= this.#poll(error).finally(() => {
      this.#waiting = undefined
    })
    await this.#waiting
  }

  async #poll(error: unknown): Promise<void> {
    const until = performance.now() + this.#ms
    const pause = (ms: number) => sleep(ms, undefined, { signal: this.#signal }).catch(() => undefined)
    const first = await Promise.race([this.#ask(), pause(answersWithinMs)])
    if (first !== undefined) {
      this.#assertSame(first)
      this.#assertWorthRepeating(error)
      await pause(everyMs)
      return
    }
    this.#failures = { since: 0, last: 0, cut: 0 }
    if (this.#ms > 0) this.#announce(error)
    while (performance.now() < until && !this.#signal.aborted) {
      await pause(everyMs)
      const instance = await this.#ask()
      if (instance !== undefined) return this.#assertSame(instance)
    }
    if (!this.#signal.aborted) throw error
  }

  /** The daemon answers, but not this request. @throws the error if that continues */
  #assertWorthRepeating(error: unknown): void {
    const now = performance.now()
    const { since, last, cut } = this.#failures
    const isSame = last > 0 && now - last < sameFailureMs
    const failures = { since: isSame ? since : now, last: now, cut: isSame ? cut : 0 }
    this.#failures = failures
    if (isStarting(error)) {
      if (now - failures.since >= this.#ms) throw error
      if (!isSame) this.#note('starting')
    } else if (++failures.cut > maxCut) throw error
  }

  #assertSame(instance: string): void {
    if (this.#instance === undefined || instance === this.#instance) return
    throw new CliError('Another daemon answers at this address now.', {
      advice: 'Start the previous one again, at the same address.',
    })
  }

  async #ask(): Promise<string | undefined> {
    try {
      const { status, text } = await this.#client.probe('/healthz')
      const answer: unknown = status < 300 ? JSON.parse(text) : undefined
      return typeof answer === 'object' && answer !== null && 'instance' in answer
        ? String(answer.instance)
        : undefined
    } catch {
      return undefined
    }
  }
}

const waitMs = (seconds: string | undefined): number | undefined => {
  const value = Number(seconds)
  return seconds && value >= 0 ? value * 1000 : undefined
}

/** The daemon that answers at our address, for the first line of a box. Empty if it does not say. */
export const instanceNow = async (ctx: CliContext): Promise<{ readonly instance?: string }> => {
  try {
    const instance = await (await ctx.client()).instance()
    return instance === undefined ? {} : { instance }
  } catch {
    // The next request reports the reason.
    return {}
  }
}

/** The hash of the last change that the daemon recorded, for the end of a box. */
export const auditHeadNow = async (ctx: CliContext): Promise<string | undefined> => {
  try {
    if (ctx.config().apiKey) return (await ctx.call('GET /team')).auditHead
    return (await ctx.call('GET /admin/audit/head')).head
  } catch {
    // The chips are done, and the box ends as they did.
    return undefined
  }
}

/**
 * Another daemon knows nothing of what a box did, and its rows may mean other things there, so no flag lets it go on
 * there. If the daemon does not tell which one it is, the address must be the same.
 * @throws UsageError if another daemon answers, or may be answering
 */
export const assertSameDaemon = async (
  ctx: CliContext,
  header: { readonly id: string; readonly url: string; readonly instance?: string | undefined },
): Promise<void> => {
  const { url } = ctx.config()
  const { instance } = header.instance === undefined ? {} : await instanceNow(ctx)
  const isKnown = instance !== undefined && header.instance !== undefined
  if (isKnown ? instance === header.instance : header.url === url) {
    if (header.url !== url) ctx.io.warn(`This batch started at ${header.url} and continues at ${url}.`)
    return
  }
  throw new UsageError(
    isKnown
      ? `Batch ${header.id} started at another daemon${header.url === url ? '' : `, at ${header.url}`}: the daemon at ${url} is a different one, and has processed none of its rows.`
      : `Batch ${header.id} started at ${header.url}, and it is not known whether ${url} is the same daemon.`,
    'Use the daemon that it started at: --url or --context. To run it at this one, start a new batch from the input.',
  )
}
