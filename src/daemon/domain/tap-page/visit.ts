import type { Db } from '../../store/database/database.ts'
import { findTap } from '../../store/taps/recorded-taps.ts'
import type { OtpDeps } from '../codes/otps.ts'
import { type IssuedCodes, issuedCodes } from '../codes/seals.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { type Visit, visitOf } from '../taps/page-visits.ts'
import { assertRef, isQueried, takeWithCodes } from '../taps/refs.ts'
import { type Clock, iso } from '../time/time.ts'

export type VisitDeps = OtpDeps & { db: Db; clock: Clock }

export type { Visit }

/** A tap page has ended for good. */
export class PageOver extends Error {
  override readonly name = 'PageOver'
  constructor(
    readonly reason: 'expired' | 'disabled',
    readonly chip: { uid: string; teamId: number },
  ) {
    super(reason === 'expired' ? 'The time of this tap is over.' : 'The chip was switched off.')
  }
}

/**
 * Finds the visit without using anything up.
 * @param ref the page's own @throws PageOver, and DomainError not_found of a ref that has no page
 */
export async function findVisit(deps: VisitDeps, ref: string): Promise<Visit> {
  const found = await assertRef(deps, ref)
  const now = iso(deps.clock.now())
  if (found.disabledAt !== null) throw new PageOver('disabled', found)
  const visit = found.ordinal === 0 ? visitOf(deps.seals, found) : undefined
  if (visit && !found.isEnded && visit.expiresAt > now) return visit
  // A ref of a redirect or a link never had a page.
  if (visit || found.isEnded || (found.refsUntil ?? '') <= now) throw new PageOver('expired', found)
  throw notFound('ref')
}

/**
 * Returns a page's codes. They are made once, in the write that uses up its ref, so that a crash leaves either the
 * ref or the codes. @throws DomainError otp_used (the ref was queried elsewhere), otp_expired
 */
export async function codesOf(deps: VisitDeps, { tap, codes }: Visit): Promise<IssuedCodes> {
  if (codes) return codes
  const now = deps.clock.now()
  return deps.db.write(async (trx) => {
    const found = await findTap(trx, tap.tapId)
    const issued = found && issuedCodes(deps.seals, { id: found.tapId, at: found.at }, found.codes, 'page')
    if (issued) return issued
    if (found && isQueried({ ...found, ordinal: 0 }))
      throw new DomainError('otp_used', 'This tap was already used elsewhere. Tap the chip again.')
    const issuedNow = found && (await takeWithCodes(trx, deps, found, { by: 'page', now }))
    if (!issuedNow) throw new DomainError('otp_expired', 'The time of this tap is over. Tap the chip again.')
    return issuedNow
  })
}
