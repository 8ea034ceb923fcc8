import type { Actor } from '../../store/audit.ts'
import { recordChange } from '../../store/audit.ts'
import { findBadgeEvent } from '../../store/badge-events.ts'
import { findChip } from '../../store/chips.ts'
import type { Db } from '../../store/database.ts'
import { findGuestbookEvent, type LocatedGuestbookEvent } from '../../store/guestbook-events.ts'
import { deleteOtp, findOtp } from '../../store/otps.ts'
import type { BadgeEventRow, OtpRow } from '../../store/schema.ts'
import { findToken, type LocatedToken } from '../../store/tokens.ts'
import { type BadgeStatus, badgeStatus } from '../badge-status.ts'
import { notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { isCode } from './codes.ts'

export interface DescribedOtp {
  otp: OtpRow
  isExpired: boolean
  token: LocatedToken | undefined
  badgeEvent: (BadgeEventRow & { status: BadgeStatus }) | undefined
  guestbookEvent: LocatedGuestbookEvent | undefined
}

type Deps = { db: Db; clock: Clock }

/** Looks at a code without using it. A used one reads as expired. @throws DomainError not_found */
export async function describeOtp({ db, clock }: Deps, code: string): Promise<DescribedOtp> {
  const otp = isCode(code) ? await findOtp(db.read, code) : undefined
  if (!otp || otp.deletedAt !== null) throw notFound('OTP')
  const now = iso(clock.now())
  const badge = otp.badgeEventId === null ? undefined : await findBadgeEvent(db.read, otp.badgeEventId)
  return {
    otp,
    isExpired: otp.usedAt !== null || Boolean(otp.isEnded) || otp.expiresAt <= now,
    token: otp.tokenRow === null ? undefined : await findToken(db.read, otp.tokenRow),
    badgeEvent: badge && { ...badge, status: badgeStatus(badge, now) },
    guestbookEvent:
      otp.guestbookEventId === null ? undefined : await findGuestbookEvent(db.read, otp.guestbookEventId),
  }
}

/** Deletes a code of one of the team's chips. @throws DomainError not_found */
export async function removeOtp(
  { db, clock }: Deps,
  team: { id: number; actor: Actor },
  code: string,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const otp = isCode(code) ? await findOtp(trx, code) : undefined
    const chip = otp && (await findChip(trx, otp.chipUid))
    if (!otp || chip?.teamId !== team.id || !(await deleteOtp(trx, code, at))) throw notFound('OTP')
    // The code itself stays out of the record: only what it was for.
    const detail = { type: otp.type, tap: otp.tapId }
    await recordChange(trx, {
      at,
      actor: team.actor,
      teamId: team.id,
      action: 'otps.delete',
      target: chip.uid,
      detail,
    })
  })
}
