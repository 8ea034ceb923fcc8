import { BackgroundLoop } from '../../../values/background-loop.ts'
import type { BadgeProvider } from '../../badges/provider.ts'
import {
  abandonedClaims,
  codeContext,
  dueClaims,
  sealedCode,
  updateClaim,
} from '../../store/badge-events/badge-claims.ts'
import { duePoapEvents, nextDue, setPoll } from '../../store/badge-events/badge-upstream.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import type { BadgeClaimRow } from '../../store/schema/schema.ts'
import { makeCodeGood } from '../../store/taps/codes.ts'
import { iso } from '../time/time.ts'
import { type PollDeps, pollAfter, pollEvent } from './poll-event.ts'
import type { Settler } from './settle.ts'

interface PollerDeps extends PollDeps {
  settler: Pick<Settler, 'settle' | 'drained'>
  /** Absent: no other daemon uses the database. */
  election?: Pick<Election, 'isLeader' | 'check'>
}

const batchSize = 50
const soonestMs = 250
const stopMs = 4_000
/** Other daemons send no signal, so this polls for what they scheduled. */
const pollMs = 5_000
/** The delay between reserving a badge and first asking about it. */
const graceMs = 10_000
const endOfDates = Date.UTC(9999, 0)
const day = 24 * 3_600_000
/** Pause after a local failure; doubled each time. */
const firstPauseMs = 30_000
const maxPauseMs = 10 * 60_000

/** Polls POAP sequentially for approvals, open claims, and transactions. */
export class Poller {
  readonly #deps: PollerDeps
  readonly #loop: BackgroundLoop<void>
  /** Monotonic; used if even the next due time cannot be read. */
  #pausedUntil = 0
  #pauseMs = firstPauseMs

  constructor(deps: PollerDeps) {
    this.#deps = deps
    this.#loop = new BackgroundLoop({
      run: () => this.#work(),
      firstMs: soonestMs,
      restMs: () => this.#nextMs().catch(() => deps.pollSeconds * 1000),
      wokenMs: () => soonestMs,
      failed: deps.failed,
    })
  }

  /** Reopens claims interrupted by a daemon's end, since it is unknown what was sent. */
  async recover(): Promise<void> {
    const { db, clock, election } = this.#deps
    const before = iso(election === undefined ? endOfDates : clock.now() - graceMs)
    const abandoned = await abandonedClaims(db.read, before)
    if (abandoned.length === 0) return
    await db.write(async (trx) => {
      for (const { id, otpHash, attempts } of abandoned) {
        await updateClaim(trx, id, {
          attempts: attempts + 1,
          dueAt: iso(clock.now()),
          reason: 'the daemon stopped',
        })
        await makeCodeGood(trx, otpHash)
      }
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Waits briefly for the current call; the next start continues what it leaves open. */
  async stop(): Promise<void> {
    const ended = Promise.allSettled([this.#loop.stop(), this.#deps.settler.drained()])
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      ended,
      new Promise((resolve) => {
        timer = setTimeout(resolve, stopMs)
      }),
    ])
    clearTimeout(timer)
  }

  /** Something may be due earlier than planned. */
  wake(): void {
    this.#loop.wake()
  }

  /** Processes everything due; concurrent calls share one run. */
  tick(): Promise<void> {
    return this.#loop.tick()
  }

  async #nextMs(): Promise<number> {
    const { db, clock, pollSeconds, election } = this.#deps
    if (election?.isLeader === false) return pollMs
    const due = await nextDue(db.read)
    const ms = due === undefined ? Number.POSITIVE_INFINITY : Date.parse(due) - clock.now()
    const pausedMs = this.#pausedUntil - clock.monotonic()
    if (pausedMs > 0) return pausedMs
    const maxWaitMs = Math.min(pollSeconds * 1000, election === undefined ? Number.POSITIVE_INFINITY : pollMs)
    return Math.min(Math.max(ms, soonestMs), maxWaitMs)
  }

  async #work(): Promise<void> {
    const { db, clock, election } = this.#deps
    if (this.#pausedUntil > clock.monotonic() || (await election?.check()) === false) return
    // A daemon may have ended while others continued.
    if (election !== undefined) await this.recover()
    const now = iso(clock.now())
    for (const claim of await dueClaims(db.read, now, batchSize))
      await this.#each(
        () => (claim.state === 'open' ? this.#settle(claim) : this.#transaction(claim)),
        (later) => db.write((trx) => updateClaim(trx, claim.id, { dueAt: later })),
      )
    for (const event of await duePoapEvents(db.read, now, batchSize))
      await this.#each(
        () => pollEvent(this.#deps, event),
        (later) => db.write((trx) => setPoll(trx, event.id, { pollAt: later, polls: event.polls + 1 })),
      )
  }

  /**
   * Postpones only the failed item, because POAP was already called. @param putOff if this fails too, polling pauses
   */
  async #each(work: () => Promise<unknown>, putOff: (until: string) => Promise<unknown>): Promise<void> {
    const { clock, failed } = this.#deps
    if (this.#deps.election?.isLeader === false) return
    if (this.#loop.isEnding || this.#pausedUntil > clock.monotonic()) return
    try {
      await work()
      this.#pauseMs = firstPauseMs
    } catch (error) {
      failed(error)
      await putOff(pollAfter(this.#deps, 2)).catch(() => {
        this.#pausedUntil = clock.monotonic() + this.#pauseMs
        this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
      })
    }
  }

  async #settle({ id }: BadgeClaimRow): Promise<void> {
    await this.#deps.settler.settle(id, false)
  }

  async #transaction(claim: BadgeClaimRow): Promise<void> {
    const { db, providers, clock } = this.#deps
    const state = providers.poap && (await this.#ask(providers.poap, claim))
    const age = clock.now() - Date.parse(claim.claimedAt ?? claim.createdAt)
    if (!state || state.kind === 'unavailable') {
      await db.write((trx) => updateClaim(trx, claim.id, { dueAt: pollAfter(this.#deps, 2) }))
      return
    }
    const isFinal = state.kind === 'mined' || state.kind === 'failed'
    await db.write((trx) =>
      updateClaim(trx, claim.id, {
        ...('hash' in state ? { transactionHash: state.hash } : {}),
        transactionState: isFinal ? state.kind : 'pending',
        attempts: claim.attempts + 1,
        dueAt: isFinal || age > 7 * day ? null : pollAfter(this.#deps, 2 ** Math.min(claim.attempts, 6)),
      }),
    )
  }

  async #ask(poap: BadgeProvider, { badgeEventId, codeNumber: number }: BadgeClaimRow) {
    const codeRef = { badgeEventId, number: number ?? -1 }
    const sealed = await sealedCode(this.#deps.db.read, codeRef)
    if (!sealed) return { kind: 'none' } as const
    return poap.transaction(this.#deps.box.open(sealed, codeContext(badgeEventId, codeRef.number)).toString())
  }
}
