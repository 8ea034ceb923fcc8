import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import { SHORT_LC } from '../../nfc/script.ts'
import { ReconnectPolicy } from '../batch/reconnect-policy.ts'
import { DaemonUnreachable } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import {
  forwardApdus,
  type Order,
  type SessionHooks,
  SessionLost,
  type SessionResult,
} from './forward-apdus.ts'
import { ReaderLimits } from './reader-limits.ts'
import { cardForRetry, maxAttempts, type OpenedReaders } from './readers.ts'
import { stationId } from './station.ts'

/** Another session that holds the chip is given so long to end. */
const busyMs = 15_000
const askAgainMs = 500
/** `--timeout` says another number for an outage too. */
const outageMs = 600_000

/** Hooks of a session that survives interruptions. */
export interface RunOptions extends SessionHooks {
  /** Called when a session begins: after an outage, say, there is another. */
  readonly onSession?: () => void
  /** Called with what onInspected threw, while the card is held. @returns true to try the order again */
  readonly onRefused?: (error: unknown) => Promise<boolean>
}

/** Shared by the conversations of a command. */
export interface SessionRunner {
  readonly ctx: CliContext
  readonly opened: Pick<OpenedReaders, 'all' | 'isEmulator'>
  readonly limits: ReaderLimits
  readonly station: string | undefined
  readonly reconnect: ReconnectPolicy
  /** Set from the announcement of an outage until its end is announced. */
  readonly outage: { isAway: boolean }
}

/** Milliseconds that a box waits for a daemon, a reader service or a reader that went away. */
export const outagePatienceMs = (ctx: CliContext): number =>
  ctx.flags.timeoutSeconds === undefined ? outageMs : ctx.flags.timeoutSeconds * 1000

export const makeSessionRunner = async (
  ctx: CliContext,
  opened: SessionRunner['opened'],
  { stop, instance }: { readonly stop: SessionHooks['stop']; readonly instance?: string | undefined },
): Promise<SessionRunner> => {
  const outage = { isAway: false }
  const announce = (error: unknown): void => {
    outage.isAway = true
    const why = error instanceof DaemonUnreachable ? error.message : 'The daemon is not ready.'
    ctx.io.warn(`${why} Waiting for it; leave the chip where it is. Ctrl-C stops.`)
  }
  const waiting = { ms: outagePatienceMs(ctx), announce }
  return {
    ctx,
    opened,
    limits: new ReaderLimits(ctx.system),
    station: stationId(ctx.system),
    outage,
    reconnect: new ReconnectPolicy(ctx, await ctx.client(), stop.now, instance, waiting),
  }
}

/**
 * Like relay, through all that a card, its reader, another session and the daemon do in the field while the card lies
 * there: the daemon knows how far it got. The card is released.
 * @throws as relay; CardGone if it was lifted
 */
export const runSession = async (
  runner: SessionRunner,
  first: Card,
  order: Order,
  options: RunOptions,
): Promise<SessionResult> => {
  const conversation = new CardSession(runner, first, order, options)
  try {
    return await conversation.run()
  } finally {
    await conversation.card.release()
  }
}

class CardSession {
  card: Card
  readonly #runner: SessionRunner
  readonly #order: Order
  readonly #options: RunOptions
  /** Set when the reader turned out to pass no more on. */
  #maxLc: number | undefined
  /** Data of the last APDU. */
  #lastLc = 0
  #cardsLost = 0
  #sessionsLost = 0
  #busyUntil: number | undefined

  constructor(runner: SessionRunner, card: Card, order: Order, options: RunOptions) {
    this.#runner = runner
    this.card = card
    this.#order = order
    this.#options = options
    this.#maxLc = runner.limits.maxLc(card.reader)
  }

  async run(): Promise<SessionResult> {
    for (;;) {
      try {
        const result = await this.#runOnce()
        if (result.status === 'failed' && (await this.#isPassing(result))) continue
        await this.card.signal(result.status === 'failed' ? 'failed' : 'done')
        return result
      } catch (error) {
        if (error instanceof CardGone) await this.#sameCardAfter(error)
        else if (error instanceof SessionLost) {
          this.#sessionsLost += 1
          if (this.#sessionsLost === maxAttempts) throw error
        } else if (await this.#options.onRefused?.(error)) continue
        else await this.#afterOutage(error)
      }
    }
  }

  #runOnce(): Promise<SessionResult> {
    this.#options.onSession?.()
    const { ctx, station, opened } = this.#runner
    const order = {
      ...this.#order,
      ...(station === undefined ? {} : { station }),
      reader: this.card.reader.slice(0, 200),
      ...(this.#maxLc === undefined ? {} : { maxLc: this.#maxLc }),
      ...(opened.isEmulator && this.#order.originality === undefined
        ? { originality: 'emulated' as const }
        : {}),
    }
    const { card } = this
    const transmit = (apdu: Uint8Array) => {
      this.#lastLc = apdu.length > 5 ? (apdu[4] ?? 0) : 0
      return card.transmit(apdu)
    }
    return forwardApdus(ctx, { atr: card.atr, transmit }, order, this.#options)
  }

  /** @returns true where the same order is to be tried again */
  async #isPassing({ code }: SessionResult): Promise<boolean> {
    const { ctx, limits } = this.#runner
    const { now } = this.#options.stop
    if (code === 'ReaderLimit' && this.#maxLc === undefined) {
      this.#maxLc = SHORT_LC
      limits.remember(this.card.reader)
      ctx.io.note(`The reader ${this.card.reader} passes only short commands on. Continuing with those.`)
      return true
    }
    if (code !== 'chip_busy') return false
    if (this.#busyUntil === undefined) {
      ctx.io.note('Another session holds this chip. Waiting up to 15 s until it lets go; Ctrl-C stops.')
      this.#busyUntil = performance.now() + busyMs
    }
    if (performance.now() >= this.#busyUntil) return false
    await delay(askAgainMs, undefined, { signal: now }).catch(() => now.throwIfAborted())
    return true
  }

  async #sameCardAfter(error: CardGone): Promise<void> {
    this.#countLoss(error)
    const { stop } = this.#options
    if (stop.now.aborted) throw error
    if (this.#lastLc > SHORT_LC) this.#maxLc = SHORT_LC
    const again = await cardForRetry(this.#runner.opened.all, this.card, stop.now).catch((later: unknown) => {
      throw later instanceof NoCard ? error : later
    })
    if (again === undefined) throw error
    this.card = again
  }

  #countLoss(error: unknown): void {
    this.#cardsLost += 1
    if (this.#cardsLost === maxAttempts) throw error
  }

  async #afterOutage(error: unknown): Promise<void> {
    const { reconnect: patience, outage, ctx } = this.#runner
    await patience.wait(error)
    this.#options.stop.now.throwIfAborted()
    if (outage.isAway) ctx.io.note('The daemon is back. Going on with the chip.')
    outage.isAway = false
  }
}
