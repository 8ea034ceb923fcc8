import { isAboutRecipient } from '../../badges/poap-wire.ts'
import { type BadgeProvider, ownerOf, type Unavailable, type UnknownOutcome } from '../../badges/provider.ts'
import { updateClaim } from '../../store/badge-events/badge-claims.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { WriteJob } from '../../store/database/database.ts'
import type { BadgeClaimRow } from '../../store/schema/schema.ts'
import { type Clock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { closeClaim, leaveOpen, releaseClaim } from './release.ts'

/** The result of a claim. `refused` and `unavailable` leave its code free and its OTP valid. */
export type MintResult =
  | { kind: 'claimed' }
  | { kind: 'refused'; message: string }
  | { kind: 'codes-gone' }
  | { kind: 'unavailable'; retryAfterMs: number; reason: string }
  /** The code and the OTP stay reserved for the same recipient. */
  | { kind: 'open'; retryAfterMs: number; reason: string }

/** Why a code cannot be claimed; the next one is tried. */
export type Step =
  | { kind: 'code-lost' }
  | { kind: 'code-missing' }
  | { kind: 'code-inactive'; message: string }

export const refusedResult = (message: string): MintResult => ({ kind: 'refused', message })

/** Attempts at a code that is not active. */
export const inactiveTried = 3
const contradiction = { retryAfterMs: 1_000, reason: 'the provider contradicts itself' }
const maxPauseMs = 600_000
/** After this delay, POAP is asked about the transaction. */
const transactionAfterMs = 15_000

interface Deps {
  /** Only while the daemon has the lease of the claim. @throws LeaseLost */
  write<T>(claimId: number, job: WriteJob<T>): Promise<T>
  box: SecretBox
  clock: Clock
  webhookEvents: WebhookEvents
  /** True if a request is waiting for the result. */
  isAwaited(id: number): boolean
}

/** Claims one code for its recipient, once, and records the result. */
export class CodeClaims {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** If an earlier attempt may have succeeded, look it up before repeating it. */
  async claim(provider: BadgeProvider, claim: BadgeClaimRow, code: string): Promise<MintResult | Step> {
    const wasSent = claim.isSent === 1
    const before = wasSent ? await this.#find(provider, claim, code) : undefined
    if (before) return before
    let isSentNow = false
    const result = await provider.claim(code, claim.recipient, async () => {
      if (!wasSent) await this.#deps.write(claim.id, (trx) => updateClaim(trx, claim.id, { isSent: 1 }))
      isSentNow = true
    })
    switch (result.kind) {
      case 'claimed':
        return this.#close(claim)
      case 'unavailable':
        return this.later(claim, result)
      case 'unknown':
        return (await this.#find(provider, claim, code)) ?? this.open(claim, result)
      case 'already-claimed':
        // Claimed by someone else, unless a request of ours was sent and may have arrived.
        if (!wasSent && !isSentNow) return { kind: 'code-lost' }
        return (
          (await this.#find(provider, claim, code, { isRefused: !wasSent })) ??
          this.open(claim, contradiction)
        )
      case 'no-such-code':
        return wasSent ? this.open(claim, contradiction) : { kind: 'code-missing' }
      case 'inactive':
        if (!wasSent) return { kind: 'code-inactive', message: result.message }
        if (claim.attempts < inactiveTried)
          return this.open(claim, { ...contradiction, reason: result.message })
        return this.#refuse(provider, claim, code, result)
      case 'already-minted-by-recipient':
      case 'refused':
        return this.#refuse(provider, claim, code, result)
    }
  }

  /** An earlier request may have arrived just now and caused this refusal. */
  async #refuse(
    provider: BadgeProvider,
    claim: BadgeClaimRow,
    code: string,
    { message }: { message: string },
  ): Promise<MintResult | Step> {
    const after = claim.isSent === 1 ? await this.#find(provider, claim, code) : undefined
    if (after) return after
    // Otherwise the next claimant would get the same code and the same refusal.
    const fate = isAboutRecipient(message) ? 'free' : 'behind'
    await this.#deps.write(claim.id, (trx) => releaseClaim(trx, this.#deps.box, claim, fate))
    return refusedResult(message)
  }

  /**
   * The result of a claim that was sent. The code was reserved for one recipient, so the claim is ours unless the
   * provider names another. @param isRefused the only request sent was refused as already claimed; then it is ours
   * only if the provider says so @returns undefined if the provider knows of no claim
   */
  async #find(
    provider: BadgeProvider,
    claim: BadgeClaimRow,
    code: string,
    { isRefused } = { isRefused: false },
  ): Promise<MintResult | Step | undefined> {
    const found = await provider.lookUp(code)
    switch (found.kind) {
      case 'unclaimed':
        return undefined
      case 'claimed': {
        const owner = ownerOf(found, claim.recipient)
        const isOther = owner === 'other' || (owner === 'unsaid' && isRefused)
        return isOther ? { kind: 'code-lost' } : this.#close(claim)
      }
      case 'no-such-code':
        return this.open(claim, {
          ...contradiction,
          reason: 'the provider does not find a code that it accepted',
        })
      case 'unavailable':
        return this.open(claim, found)
    }
  }

  async #close(claim: BadgeClaimRow): Promise<MintResult> {
    const now = this.#deps.clock.now()
    // POAP keeps badges for e-mail addresses; there is no transaction until the badge is collected.
    const hasTransaction = claim.codeNumber !== null && !claim.recipient.includes('@')
    await this.#deps.write(claim.id, (trx) =>
      closeClaim(trx, this.#deps, claim, {
        now: iso(now),
        dueAt: hasTransaction ? iso(now + transactionAfterMs) : null,
        isAnswered: this.#deps.isAwaited(claim.id),
      }),
    )
    return { kind: 'claimed' }
  }

  /** This attempt did nothing; an earlier one may have. */
  async later(claim: BadgeClaimRow, why: Pick<Unavailable, 'retryAfterMs' | 'reason'>): Promise<MintResult> {
    if (claim.isSent === 1) return this.open(claim, why)
    await this.#deps.write(claim.id, (trx) => releaseClaim(trx, this.#deps.box, claim))
    return { kind: 'unavailable', ...only(why) }
  }

  async open(
    claim: BadgeClaimRow,
    why: Pick<UnknownOutcome, 'retryAfterMs' | 'reason'>,
  ): Promise<MintResult> {
    const pauseMs = Math.min(
      Math.max(why.retryAfterMs, 1_000) * 2 ** Math.min(claim.attempts, 10),
      maxPauseMs,
    )
    const dueAt = iso(this.#deps.clock.now() + pauseMs)
    await this.#deps.write(claim.id, (trx) => leaveOpen(trx, claim, { dueAt, reason: why.reason }))
    return { kind: 'open', ...only(why) }
  }
}

const only = ({ retryAfterMs, reason }: Pick<Unavailable, 'retryAfterMs' | 'reason'>) => ({
  retryAfterMs,
  reason,
})
