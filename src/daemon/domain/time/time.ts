import type { Logger } from 'pino'
import * as z from 'zod'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import { setSetting, setting } from '../../store/database/settings.ts'
import { expireFutureDated } from '../../store/time/clock-set-back.ts'
import { aheadOfDatabase } from '../../store/time/database-clock.ts'

/** Milliseconds. Tests provide their own. */
export interface Clock {
  /** Since the epoch, by the machine's clock; for dates. It can jump. */
  now(): number
  /** Never goes back; for measuring. */
  monotonic(): number
}

/** The date for budgets: see `Timekeeper.confirmedTime`. */
export interface BudgetClock extends Clock {
  confirmedTime(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** ISO 8601 */
export const iso = (ms: number): string => new Date(ms).toISOString()

/** The first instant of a day, YYYY-MM-DD, in UTC. */
export const dayStart = (day: string): string => `${day}T00:00:00.000Z`

/** The last instant of a day, YYYY-MM-DD, in UTC. */
export const dayEnd = (day: string): string => `${day}T23:59:59.999Z`

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** Clocks are often corrected by a few seconds. */
const toleratedMs = 5 * minute
/** A longer gap since the last run is reported, since the clock may be wrong. */
const longGapMs = 30 * day
const checkMs = 1000

type Deps = { db: Db; clock: Clock; log: Pick<Logger, 'warn'> }

const kept = z.object({ at: z.number(), lived: z.number() })
const settingKey = 'clock'

/**
 * The machine's clock, guarded against jumps. Whatever prevents repetition expires by `uptime` or never, not by
 * date. After the clock is set back, earlier refs and codes end, since their dates have lost their meaning.
 */
export class Timekeeper implements Clock {
  readonly #deps: Deps
  readonly #livedBefore: number
  readonly #startedAt: number
  /** How far the clock is ahead of the monotonic clock. */
  #ahead: number
  /** The same offset, as used by budgets. */
  #aheadForBudgets: number
  #anchoredAt: number
  #keptAt: number
  #jump: { at: number; words: string } | undefined
  /** Refs and codes dated in the future still have to be ended. */
  #setBack: { byMs: number; words: string } | undefined

  private constructor(deps: Deps, before: z.infer<typeof kept> | undefined) {
    this.#deps = deps
    const now = deps.clock.now()
    this.#startedAt = deps.clock.monotonic()
    this.#livedBefore = before?.lived ?? now
    this.#ahead = now - this.#startedAt
    this.#aheadForBudgets = this.#ahead
    this.#anchoredAt = this.#startedAt
    this.#keptAt = this.#startedAt
    const byMs = before === undefined ? 0 : now - before.at
    if (byMs < -toleratedMs || byMs > longGapMs) this.#jumped(byMs, 'than when the daemon last ran')
  }

  static async open(deps: Deps): Promise<Timekeeper> {
    const before = await setting(deps.db.read, settingKey)
    const keeper = new Timekeeper(deps, before === undefined ? undefined : kept.parse(JSON.parse(before)))
    await keeper.#expireFutureDated()
    await keeper.keep()
    return keeper
  }

  now(): number {
    return this.#deps.clock.now()
  }

  monotonic(): number {
    return this.#deps.clock.monotonic()
  }

  /** Milliseconds of running time of this database, starting at the date of its first start. */
  uptime(): number {
    return this.#livedBefore + this.monotonic() - this.#startedAt
  }

  /** The date for budgets, in milliseconds since the epoch: a jump counts only after a day. */
  confirmedTime(): number {
    this.#notice()
    const { clock } = this.#deps
    const now = clock.now()
    const mono = clock.monotonic()
    if (Math.abs(this.#ahead - this.#aheadForBudgets) <= toleratedMs) return now
    if (this.#jump !== undefined && mono - this.#jump.at < day) return this.#aheadForBudgets + mono
    this.#aheadForBudgets = this.#ahead
    return now
  }

  /** The last jump, reported for a day of running time. */
  warnings(): string[] {
    return this.#jump !== undefined && this.monotonic() - this.#jump.at < day ? [this.#jump.words] : []
  }

  /** Detects a jump and handles it. */
  async check(): Promise<void> {
    this.#notice()
    const wasSetBack = this.#setBack !== undefined
    await this.#expireFutureDated()
    if (wasSetBack || this.monotonic() - this.#keptAt >= minute) await this.keep()
  }

  /** Checks every second. @returns the loop to stop */
  start(failed: (error: unknown) => void): BackgroundLoop {
    const loop = new BackgroundLoop({
      run: () => this.check(),
      firstMs: checkMs,
      restMs: () => checkMs,
      failed,
    })
    loop.start()
    return loop
  }

  /** Stores the time for the next start. */
  async keep(): Promise<void> {
    this.#keptAt = this.monotonic()
    const at = this.now()
    const own = Math.floor(this.uptime())
    await this.#deps.db.write(async (trx) => {
      // Another daemon on the database may be ahead of this one, which started from a value stored up to a
      // minute before.
      const before = await setting(trx, settingKey)
      const lived = Math.max(own, before === undefined ? own : kept.parse(JSON.parse(before)).lived)
      await setSetting(trx, settingKey, JSON.stringify({ at, lived }))
    })
  }

  #notice(): void {
    const mono = this.monotonic()
    const ahead = this.now() - mono
    const byMs = ahead - this.#ahead
    if (Math.abs(byMs) > toleratedMs) {
      this.#ahead = ahead
      this.#jumped(byMs, 'all at once')
      // Stored soon, so that the next start has it.
      this.#keptAt = Number.NEGATIVE_INFINITY
    } else if (mono - this.#anchoredAt >= hour) {
      if (Math.abs(ahead - this.#aheadForBudgets) <= toleratedMs) this.#aheadForBudgets = ahead
      this.#ahead = ahead
      this.#anchoredAt = mono
    }
  }

  #jumped(byMs: number, since: string): void {
    this.#anchoredAt = this.monotonic()
    const by = spanOf(byMs)
    const words =
      byMs < 0
        ? `The clock was set back: it says ${iso(this.now())}, ${by} earlier ${since}. Refs and codes from earlier taps have ended: tap again for new ones.`
        : `The clock says ${iso(this.now())}, ${by} later ${since}. If that is wrong, correct it: see "When the clock was wrong" in docs/daemon.md.`
    this.#jump = { at: this.monotonic(), words }
    // Logged once it is known whose clock is wrong.
    if (byMs < 0) this.#setBack = { byMs, words }
    else this.#log(byMs, words)
  }

  #log(byMs: number, message: string): void {
    this.#deps.log.warn({ jumpSeconds: Math.round(byMs / 1000) }, message)
  }

  async #expireFutureDated(): Promise<void> {
    if (this.#setBack === undefined) return
    const { byMs, words } = this.#setBack
    const { db, clock } = this.#deps
    if (isShared(db)) {
      // If this machine's clock is the wrong one, data that others dated ahead of it must not end.
      const { aheadMs } = await aheadOfDatabase(db, clock)
      if (aheadMs < -toleratedMs) {
        this.#setBack = undefined
        const span = spanOf(aheadMs)
        const mine = `This machine's clock is ${span} behind the database's. Nothing has ended. Until it is corrected, the refs and codes of taps at this daemon expire ${span} too early at the others, and all that others make is accepted here ${span} too long, as are keys with an expiry.`
        this.#jump = { at: this.monotonic(), words: mine }
        this.#log(aheadMs, mine)
        return
      }
    }
    const now = iso(this.now())
    await db.write((trx) => expireFutureDated(trx, now))
    this.#setBack = undefined
    this.#log(byMs, words)
  }
}

function spanOf(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / minute)
  if (minutes >= 48 * 60) return `${Math.round(minutes / 60 / 24)} days`
  return minutes >= 120 ? `${Math.round(minutes / 60)} hours` : `${minutes} minutes`
}
