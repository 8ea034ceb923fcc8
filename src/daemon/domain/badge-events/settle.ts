import type { BadgeProvider } from '../../badges/provider.ts'
import { codeContext, findClaim, leaseOfClaim, sealedCode } from '../../store/badge-events/badge-claims.ts'
import { findPoapEvent, secretCodeContext } from '../../store/badge-events/badge-upstream.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, WriteJob } from '../../store/database/database.ts'
import { type Lease, withLease } from '../../store/lease/lease.ts'
import type { BadgeClaimRow } from '../../store/schema/schema.ts'
import type { Clock } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { CodeClaims, inactiveTried, type MintResult, refusedResult, type Step } from './claim-code.ts'
import { noAccount, type Providers, providerOf } from './providers.ts'
import { releaseClaim, releaseCode, swapCode } from './release.ts'

export type { MintResult } from './claim-code.ts'

interface Deps {
  db: Db
  box: SecretBox
  clock: Clock
  webhookEvents: WebhookEvents
  providers: Providers
}

const codesTried = 50
/** Longer than a provider takes for one code. Claims of a daemon that ended are free after this time. */
const leaseMs = 90_000
/** How long a request waits while another daemon asks about its claim. */
const waitMs = 15_000

const isSettled = (step: MintResult | Step): step is MintResult => !step.kind.startsWith('code-')

const lostResult: MintResult = {
  kind: 'open',
  retryAfterMs: 2000,
  reason: 'another daemon is asking the provider',
}

interface StepInput {
  code: string
  step: Step
  /** The previous code's number if the provider did not find it, and the number of inactive codes. */
  seen: { missing: number | undefined; inactive: number }
}

/** Completes claims; at most one provider call per claim at a time. */
export class Settler {
  readonly #deps: Deps
  readonly #running = new Map<number, Promise<MintResult>>()
  /** Claims with a waiting request. */
  readonly #awaited = new Set<number>()

  /** By claim. */
  readonly #leases = new Map<number, Lease>()
  readonly #claims: CodeClaims

  constructor(deps: Deps) {
    this.#deps = deps
    this.#claims = new CodeClaims({
      ...deps,
      write: (id, job) => this.#write(id, job),
      isAwaited: (id) => this.#awaited.has(id),
    })
  }

  /** @param isAwaited true if a request is waiting for the result */
  settle(id: number, isAwaited: boolean): Promise<MintResult> {
    if (isAwaited) this.#awaited.add(id)
    const running = this.#running.get(id)
    if (running) return running
    const settled = this.#alone(id).finally(() => {
      this.#running.delete(id)
      this.#awaited.delete(id)
    })
    this.#running.set(id, settled)
    return settled
  }

  /** Waits for all calls in progress. */
  async drained(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** Two daemons that asked about the same claim would each move it to the next code. */
  async #alone(id: number): Promise<MintResult> {
    const { db } = this.#deps
    const claim = await findClaim(db.read, id)
    // Without a provider's code, a single write decides.
    if (claim?.state !== 'open' || claim.codeNumber === null) return this.#orLeaveOpen(id)
    const settled = await withLease({ db, name: leaseOfClaim(id), leaseMs }, waitMs, (lease) => {
      this.#leases.set(id, lease)
      return this.#orLeaveOpen(id).finally(() => this.#leases.delete(id))
    })
    return settled ?? lostResult
  }

  /** Writes nothing, and so sends nothing, once another daemon has the claim's lease. */
  #write<T>(id: number, job: WriteJob<T>): Promise<T> {
    return (this.#leases.get(id) ?? this.#deps.db).write(job)
  }

  /** After an unexpected failure, such as a full disk, the claim stays open for a retry. */
  async #orLeaveOpen(id: number): Promise<MintResult> {
    try {
      return await this.#run(id)
    } catch (error) {
      const claim = await findClaim(this.#deps.db.read, id)
      if (claim?.state === 'open')
        await this.#claims.open(claim, { retryAfterMs: 10_000, reason: 'an internal error occurred' })
      throw error
    }
  }

  async #run(id: number): Promise<MintResult> {
    let claim = await findClaim(this.#deps.db.read, id)
    if (!claim) return { kind: 'unavailable', retryAfterMs: 1_000, reason: 'the mint failed' }
    if (claim.state === 'claimed') return { kind: 'claimed' }
    const provider = providerOf(this.#deps.providers, claim.codeNumber)
    if (!provider) return this.#claims.later(claim, { retryAfterMs: 60_000, reason: noAccount })
    const seen = { missing: undefined as number | undefined, inactive: 0 }
    for (let tried = 0; tried < codesTried; tried += 1) {
      const code = await this.#codeOf(claim)
      const step = await this.#claims.claim(provider, claim, code)
      if (isSettled(step)) return step
      const settled = await this.#skipCode(provider, claim, { code, step, seen })
      if (settled) return settled
      const passed: BadgeClaimRow = claim
      const fate = step.kind === 'code-inactive' ? 'behind' : 'lost'
      claim = await this.#write(id, (trx) => swapCode(trx, this.#deps.box, passed, fate))
      if (!claim) return step.kind === 'code-inactive' ? refusedResult(step.message) : { kind: 'codes-gone' }
      seen.missing = step.kind === 'code-missing' ? (passed.codeNumber ?? undefined) : undefined
    }
    const reason = 'too many of its codes were claimed elsewhere'
    return this.#claims.later(claim, { retryAfterMs: 1_000, reason })
  }

  /** @returns undefined if the next code may be tried */
  async #skipCode(provider: BadgeProvider, claim: BadgeClaimRow, { code, step, seen }: StepInput) {
    if (step.kind === 'code-missing') {
      // A provider that denies several codes in a row is not credible.
      const isBelieved = seen.missing === undefined && (await this.#isUnlisted(provider, claim, code))
      return isBelieved ? undefined : this.#requeue(claim, seen.missing)
    }
    if (step.kind !== 'code-inactive') return undefined
    seen.inactive += 1
    if (seen.inactive < inactiveTried) return undefined
    await this.#write(claim.id, (trx) => releaseClaim(trx, this.#deps.box, claim, 'behind'))
    return refusedResult(step.message)
  }

  /** True if the event's list at the provider has codes, but not this one. */
  async #isUnlisted(provider: BadgeProvider, claim: BadgeClaimRow, code: string): Promise<boolean> {
    const { db, box } = this.#deps
    const event = await findPoapEvent(db.read, claim.badgeEventId)
    if (!event) return false
    const secretCode = box.open(event.secretCode, secretCodeContext(claim.badgeEventId)).toString()
    const listed = await provider.codes({ upstreamId: event.upstreamId, secretCode })
    return (
      listed.kind === 'codes' && listed.codes.length > 0 && !listed.codes.some((one) => one.code === code)
    )
  }

  /** @param missing the number of a code already assumed lost */
  async #requeue(claim: BadgeClaimRow, missing: number | undefined): Promise<MintResult> {
    await this.#write(claim.id, async (trx) => {
      await releaseClaim(trx, this.#deps.box, claim, 'behind')
      if (missing !== undefined) await releaseCode(trx, claim.badgeEventId, missing)
    })
    return {
      kind: 'unavailable',
      retryAfterMs: 10_000,
      reason: 'the provider does not find codes that it issued',
    }
  }

  async #codeOf({ badgeEventId, codeNumber: number }: BadgeClaimRow): Promise<string> {
    if (number === null) return ''
    const sealed = await sealedCode(this.#deps.db.read, { badgeEventId, number })
    if (!sealed) throw new Error('a claim has a code that is not there')
    return this.#deps.box.open(sealed, codeContext(badgeEventId, number)).toString()
  }
}
