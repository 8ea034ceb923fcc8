import type { Db } from '../../store/database.ts'
import { findPageVisitOf, type PageVisitRow, sealPageVisit } from '../../store/page-visits.ts'
import { findRef, type RefOfChip } from '../../store/refs.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { isCode, type OtpDeps } from '../codes/otps.ts'
import { DomainError, notFound } from '../errors.ts'
import { openSecrets, type PageCodes, sealSecrets, type Visit } from '../taps/page-visits.ts'
import { takeWithCodes } from '../taps/refs.ts'
import { type Clock, iso } from '../time.ts'

export type VisitDeps = OtpDeps & { db: Db; box: SecretBox; clock: Clock }

export type { Visit }

/** A tap page is over for good. */
export class PageOver extends Error {
  override readonly name = 'PageOver'
  constructor(readonly reason: 'expired' | 'disabled') {
    super(reason === 'expired' ? 'The time of this tap is over.' : 'The chip was switched off.')
  }
}

/** Uses nothing up. @param ref the page's own @throws PageOver, and DomainError not_found of a ref that has no page */
export async function findVisit({ db, box, clock }: VisitDeps, ref: string): Promise<Visit> {
  const found = isCode(ref) ? await findRef(db.read, ref) : undefined
  if (!found) throw notFound('ref')
  if (found.disabledAt !== null) throw new PageOver('disabled')
  const row = await findPageVisitOf(db.read, ref)
  const now = iso(clock.now())
  if (row && row.expiresAt > now) return visitOf(box, found, row)
  // A ref of a redirect or a link never had a page.
  if (row || found.expiresAt <= now) throw new PageOver('expired')
  throw notFound('ref')
}

const visitOf = (box: SecretBox, ref: RefOfChip, { cookieHash, refs, expiresAt }: PageVisitRow): Visit => ({
  ref,
  secrets: openSecrets(box, refs),
  cookieHash,
  expiresAt,
})

/**
 * The codes of a page: made once, by using up its ref in the write that keeps them, so that a crash in between leaves
 * either the ref or the codes. @throws DomainError otp_used (the ref was queried elsewhere), otp_expired
 */
export async function codesOf(deps: VisitDeps, visit: Visit): Promise<PageCodes> {
  if (visit.secrets.codes) return visit.secrets.codes
  const { own, links } = visit.secrets
  const now = deps.clock.now()
  return deps.db.write(async (trx) => {
    const row = await findPageVisitOf(trx, own)
    const ref = await findRef(trx, own)
    const made = row && openSecrets(deps.box, row.refs).codes
    if (made) return made
    if (ref && ref.queriedAt !== null)
      throw new DomainError('otp_used', 'This tap was already used elsewhere. Tap the chip again.')
    const taken = row && ref && (await takeWithCodes(trx, deps, own, { ref, now }))
    if (!taken) throw new DomainError('otp_expired', 'The time of this tap is over. Tap the chip again.')
    const codes: PageCodes = {
      endsAt: iso(now + deps.otpLifetime),
      claim: taken.token ?? taken.unminted,
      badges: [...taken.badges],
      guestbooks: [...taken.guestbooks],
    }
    const refs = sealSecrets(deps.box, { own, links, codes })
    await sealPageVisit(trx, { cookieHash: row.cookieHash, refs })
    return codes
  })
}
