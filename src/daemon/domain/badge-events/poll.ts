import type { ApprovalResult, BadgeProvider } from '../../badges/provider.ts'
import { abandonedClaims, dueClaims, makeOtpGood, updateClaim } from '../../store/badge-claims.ts'
import { codePlace, sealedCode } from '../../store/badge-codes.ts'
import { setApproval } from '../../store/badge-events.ts'
import {
  duePoapEvents,
  nextDue,
  type PoapEvent,
  secretCodePlace,
  setPoll,
} from '../../store/badge-upstream.ts'
import type { Db } from '../../store/database.ts'
import type { BadgeClaimRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { type Clock, iso } from '../time.ts'
import type { Providers } from './providers.ts'
import type { Settler } from './settle.ts'
import { storeCodes } from './store-codes.ts'

export interface PollerDeps {
  db: Db
  box: SecretBox
  clock: Clock
  providers: Providers
  settler: Settler
  pollSeconds: number
  /** From 0 up to 1. */
  random(): number
  /** Worth a line in a log: names no code. */
  failed(error: unknown): void
  told(event: { badgeEventId: number; approval: string }): void
}

const atOnce = 50
const soonestMs = 250
const stopMs = 4_000
const day = 24 * 3_600_000

/** Asks POAP what became of events, of claims that were left open, and of transactions: one call after another. */
export class Poller {
  readonly #deps: PollerDeps
  #timer: NodeJS.Timeout | undefined
  #isOn = false
  #isEnding = false
  #running: Promise<void> | undefined

  constructor(deps: PollerDeps) {
    this.#deps = deps
  }

  /** Claims that a request had in hand when the daemon ended: what was sent is not known. Before the first request. */
  async recover(): Promise<void> {
    const { db, clock } = this.#deps
    const left = await abandonedClaims(db.read)
    if (left.length === 0) return
    await db.write(async (trx) => {
      for (const { id, otpHash, attempts } of left) {
        await updateClaim(trx, id, {
          attempts: attempts + 1,
          dueAt: iso(clock.now()),
          reason: 'the daemon ended',
        })
        await makeOtpGood(trx, otpHash)
      }
    })
  }

  start(): void {
    this.#isOn = true
    this.#isEnding = false
    this.nudge()
  }

  /** Ends with the call that is under way, if that ends soon: what it leaves open the next start takes up. */
  async stop(): Promise<void> {
    this.#isOn = false
    this.#isEnding = true
    clearTimeout(this.#timer)
    const ended = Promise.allSettled([this.#running, this.#deps.settler.drained()])
    let impatient: NodeJS.Timeout | undefined
    await Promise.race([
      ended,
      new Promise((resolve) => {
        impatient = setTimeout(resolve, stopMs)
      }),
    ])
    clearTimeout(impatient)
  }

  /** Something may be due sooner than what was waited for. */
  nudge(): void {
    if (this.#isOn && !this.#running) this.#schedule(soonestMs)
  }

  /** Works once through what is due; several at once are one. */
  tick(): Promise<void> {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(async () => {
      await this.tick().catch(this.#deps.failed)
      const next = await this.#nextMs().catch(() => this.#deps.pollSeconds * 1000)
      if (this.#isOn) this.#schedule(next)
    }, ms).unref()
  }

  async #nextMs(): Promise<number> {
    const { db, clock, pollSeconds } = this.#deps
    const due = await nextDue(db.read)
    const ms = due === undefined ? Number.POSITIVE_INFINITY : Date.parse(due) - clock.now()
    return Math.min(Math.max(ms, soonestMs), pollSeconds * 1000)
  }

  async #work(): Promise<void> {
    const { db, clock } = this.#deps
    const now = iso(clock.now())
    for (const claim of await dueClaims(db.read, now, atOnce))
      await this.#each(() => (claim.state === 'open' ? this.#settle(claim) : this.#transaction(claim)))
    for (const event of await duePoapEvents(db.read, now, atOnce)) await this.#each(() => this.#event(event))
  }

  /** What fails with one of them fails with it alone. */
  async #each(work: () => Promise<unknown>): Promise<void> {
    if (this.#isEnding) return
    await work().catch(this.#deps.failed)
  }

  async #settle({ id }: BadgeClaimRow): Promise<void> {
    await this.#deps.settler.settle(id, false)
  }

  async #event(event: PoapEvent): Promise<void> {
    const { db, box, providers } = this.#deps
    if (!providers.poap) return this.#pollLater(event, 60)
    const secretCode = box.open(event.secretCode, secretCodePlace(event.id)).toString()
    const { upstreamId, requestedCodes } = event
    const createdAt = Date.parse(event.createdAt)
    const result = await providers.poap.approval({ upstreamId, secretCode, requestedCodes, createdAt })
    if (result.kind === 'approved') {
      await storeCodes(this.#deps, event, result.codes)
      await db.write((trx) => setPoll(trx, event.id, { pollAt: null, polls: event.polls + 1 }))
      this.#deps.told({ badgeEventId: event.id, approval: 'approved' })
      return
    }
    await this.#undecided(event, result)
  }

  async #undecided(event: PoapEvent, result: Exclude<ApprovalResult, { kind: 'approved' }>): Promise<void> {
    if (result.kind === 'unavailable' || result.kind === 'refused') {
      const reason = result.kind === 'refused' ? result.message : result.reason
      this.#deps.failed(new Error(`POAP cannot be asked about the badge event ${event.id}: ${reason}`))
      return this.#pollLater(event, 2)
    }
    const approval = result.kind
    if (await this.#deps.db.write((trx) => setApproval(trx, event.id, { approval })))
      this.#deps.told({ badgeEventId: event.id, approval })
    // A rejection is a guess, and people change their minds: it is asked for ever, and seldom.
    return this.#pollLater(event, approval === 'rejected' ? 60 : 1 + Math.min(event.polls / 60, 4))
  }

  async #pollLater({ id, polls }: PoapEvent, times: number): Promise<void> {
    const pollAt = this.#after(times)
    await this.#deps.db.write((trx) => setPoll(trx, id, { pollAt, polls: polls + 1 }))
  }

  /** Some times the usual pause from now, give or take a fifth: many events do not come back together. */
  #after(times: number): string {
    const { clock, pollSeconds, random } = this.#deps
    return iso(Math.round(clock.now() + pollSeconds * 1000 * times * (0.8 + 0.4 * random())))
  }

  async #transaction(claim: BadgeClaimRow): Promise<void> {
    const { db, providers, clock } = this.#deps
    const state = providers.poap && (await this.#ask(providers.poap, claim))
    const age = clock.now() - Date.parse(claim.claimedAt ?? claim.createdAt)
    if (!state || state.kind === 'unavailable') {
      await db.write((trx) => updateClaim(trx, claim.id, { dueAt: this.#after(2) }))
      return
    }
    const isOver = state.kind === 'mined' || state.kind === 'failed'
    await db.write((trx) =>
      updateClaim(trx, claim.id, {
        ...('hash' in state ? { transactionHash: state.hash } : {}),
        transactionState: isOver ? state.kind : 'pending',
        attempts: claim.attempts + 1,
        dueAt: isOver || age > 7 * day ? null : this.#after(2 ** Math.min(claim.attempts, 6)),
      }),
    )
  }

  async #ask(poap: BadgeProvider, { badgeEventId, codeNumber: number }: BadgeClaimRow) {
    const place = { badgeEventId, number: number ?? -1 }
    const sealed = await sealedCode(this.#deps.db.read, place)
    if (!sealed) return { kind: 'none' } as const
    return poap.transaction(this.#deps.box.open(sealed, codePlace(badgeEventId, place.number)).toString())
  }
}
