import { type BadgeProvider, isClaimOf, type Unavailable, type Unknown } from '../../badges/provider.ts'
import { findClaim } from '../../store/badge-claims.ts'
import { codePlace, sealedCode } from '../../store/badge-codes.ts'
import type { Db } from '../../store/database.ts'
import type { BadgeClaimRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { type Clock, iso } from '../time.ts'
import { noAccount, type Providers, providerOf } from './providers.ts'
import { closeClaim, leaveOpen, releaseClaim, swapCode } from './release.ts'

/** What became of a claim. `refused` and `unavailable` left nothing behind: its code is free, its OTP good. */
export type Settled =
  | { kind: 'claimed' }
  | { kind: 'refused'; message: string }
  | { kind: 'codes-gone' }
  | { kind: 'unavailable'; retryAfterMs: number; reason: string }
  /** Its code and its OTP wait for the same recipient. */
  | { kind: 'open'; retryAfterMs: number; reason: string }

interface Deps {
  db: Db
  box: SecretBox
  clock: Clock
  providers: Providers
}

const codesTried = 50
const contradiction = { retryAfterMs: 1_000, reason: 'the provider contradicts itself' }
const longestPauseMs = 600_000
/** From here on POAP is asked about the transaction. */
const transactionAfterMs = 15_000

/** Brings claims to their end, one call of the provider at a time a claim, whoever asks. */
export class Settler {
  readonly #deps: Deps
  readonly #running = new Map<number, Promise<Settled>>()
  /** Claims whose end a request waits for, to be told. */
  readonly #awaited = new Set<number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** @param isAwaited whether somebody is told how it ended */
  settle(id: number, isAwaited: boolean): Promise<Settled> {
    if (isAwaited) this.#awaited.add(id)
    const running = this.#running.get(id)
    if (running) return running
    const settled = this.#orLeaveOpen(id).finally(() => {
      this.#running.delete(id)
      this.#awaited.delete(id)
    })
    this.#running.set(id, settled)
    return settled
  }

  /** Ends with the calls that are under way. */
  async drained(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** What nobody foresaw (a full disk, say) leaves it to be looked at again. */
  async #orLeaveOpen(id: number): Promise<Settled> {
    try {
      return await this.#run(id)
    } catch (error) {
      const claim = await findClaim(this.#deps.db.read, id)
      if (claim?.state === 'open')
        await this.#open(claim, { retryAfterMs: 10_000, reason: 'it failed inside the daemon' })
      throw error
    }
  }

  async #run(id: number): Promise<Settled> {
    let claim = await findClaim(this.#deps.db.read, id)
    if (!claim) return { kind: 'unavailable', retryAfterMs: 1_000, reason: 'the mint came to nothing' }
    if (claim.state === 'claimed') return { kind: 'claimed' }
    const provider = providerOf(this.#deps.providers, claim.codeNumber)
    if (!provider) return this.#later(claim, { retryAfterMs: 60_000, reason: noAccount })
    for (let tried = 0; tried < codesTried; tried += 1) {
      const code = await this.#codeOf(claim)
      const settled = await this.#claim(provider, claim, code)
      if (settled !== 'code-lost') return settled
      const lost: BadgeClaimRow = claim
      claim = await this.#deps.db.write((trx) => swapCode(trx, lost))
      if (!claim) return { kind: 'codes-gone' }
    }
    const reason = 'too many of its codes were claimed elsewhere'
    return this.#later(claim, { retryAfterMs: 1_000, reason })
  }

  /** Where something may have happened before, it is looked up before it is repeated. */
  async #claim(provider: BadgeProvider, claim: BadgeClaimRow, code: string): Promise<Settled | 'code-lost'> {
    const { recipient } = claim
    const isFresh = claim.attempts === 0
    const before = isFresh ? undefined : await this.#find(provider, claim, code)
    if (before) return before
    const result = await provider.claim(code, recipient)
    switch (result.kind) {
      case 'claimed':
        return this.#close(claim)
      case 'already-claimed':
        // Fresh: by somebody else. Else what was sent before may have arrived just now.
        if (isFresh) return 'code-lost'
        return (await this.#find(provider, claim, code)) ?? this.#open(claim, contradiction)
      case 'already-minted-by-recipient':
      case 'refused':
        if ('status' in result && result.status === 404) return 'code-lost'
        await this.#deps.db.write((trx) => releaseClaim(trx, claim))
        return { kind: 'refused', message: result.message }
      case 'unavailable':
        return this.#later(claim, result)
      case 'unknown':
        return (await this.#find(provider, claim, code)) ?? this.#open(claim, result)
    }
  }

  /** @returns how a claim that may have happened ended; undefined: by what the provider knows, it did not happen */
  async #find(
    provider: BadgeProvider,
    claim: BadgeClaimRow,
    code: string,
  ): Promise<Settled | 'code-lost' | undefined> {
    const found = await provider.lookUp(code)
    switch (found.kind) {
      case 'unclaimed':
        return undefined
      case 'claimed':
        return isClaimOf(found, claim.recipient) ? this.#close(claim) : 'code-lost'
      case 'no-such-code':
        return 'code-lost'
      case 'unavailable':
        return this.#open(claim, found)
    }
  }

  async #close(claim: BadgeClaimRow): Promise<Settled> {
    const now = this.#deps.clock.now()
    // For an e-mail address POAP keeps the badge; nothing goes to a chain until somebody collects it.
    const hasTransaction = claim.codeNumber !== null && !claim.recipient.includes('@')
    await this.#deps.db.write((trx) =>
      closeClaim(trx, claim, {
        now: iso(now),
        dueAt: hasTransaction ? iso(now + transactionAfterMs) : null,
        isAnswered: this.#awaited.has(claim.id),
      }),
    )
    return { kind: 'claimed' }
  }

  /** Nothing happened this time. Whether something did before is open where it was tried before. */
  async #later(claim: BadgeClaimRow, why: Pick<Unavailable, 'retryAfterMs' | 'reason'>): Promise<Settled> {
    if (claim.attempts > 0) return this.#open(claim, why)
    await this.#deps.db.write((trx) => releaseClaim(trx, claim))
    return { kind: 'unavailable', ...only(why) }
  }

  async #open(claim: BadgeClaimRow, why: Pick<Unknown, 'retryAfterMs' | 'reason'>): Promise<Settled> {
    const pauseMs = Math.min(
      Math.max(why.retryAfterMs, 1_000) * 2 ** Math.min(claim.attempts, 10),
      longestPauseMs,
    )
    const dueAt = iso(this.#deps.clock.now() + pauseMs)
    await this.#deps.db.write((trx) => leaveOpen(trx, claim, { dueAt, reason: why.reason }))
    return { kind: 'open', ...only(why) }
  }

  async #codeOf({ badgeEventId, codeNumber: number }: BadgeClaimRow): Promise<string> {
    if (number === null) return ''
    const sealed = await sealedCode(this.#deps.db.read, { badgeEventId, number })
    if (!sealed) throw new Error('a claim has a code that is not there')
    return this.#deps.box.open(sealed, codePlace(badgeEventId, number)).toString()
  }
}

const only = ({ retryAfterMs, reason }: Pick<Unavailable, 'retryAfterMs' | 'reason'>) => ({
  retryAfterMs,
  reason,
})
