import { nanoid } from 'nanoid'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findBadgeEvent } from '../../store/badge-events.ts'
import { findChip } from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findGuestbookEvent, type LocatedGuestbookEvent } from '../../store/guestbook-events.ts'
import { deleteOtp, type FoundOtp, findOtp, insertOtp, takeOtp } from '../../store/otps.ts'
import type { BadgeEventRow, OtpRow } from '../../store/schema.ts'
import type { OtpOfTap } from '../../store/tap-to-take.ts'
import { findToken, type LocatedToken } from '../../store/tokens.ts'
import { type BadgeStatus, badgeStatus } from '../badge-status.ts'
import type { ChipAssets } from '../chips/chip-record.ts'
import { DomainError, notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'

export { hashCode } from '../../store/refs.ts'

/** The source of refs, codes, and cookies. Tests provide their own. */
export interface CodeSource {
  /** 21 characters of the nanoid alphabet from a CSPRNG. */
  code(): string
}

export const randomCodes: CodeSource = { code: () => nanoid(21) }

/** False for text that can be neither a ref nor a code. */
export const isCode = (text: string): boolean => /^[A-Za-z0-9_-]{21}$/.test(text)

type OtpSubject =
  | { type: 'PHYGITAL_CLAIM'; tokenRow: number | null }
  | { type: 'POAP_EVENT'; badgeEventId: number }
  | { type: 'GUESTBOOK_EVENT'; guestbookEventId: number }

export interface Origin {
  chipUid: string
  tapId: number
  /** The tap's time: the code says when the chip was tapped. ISO 8601. */
  tappedAt: string
  /** Milliseconds since the epoch; the code's life begins here. */
  now: number
}

export interface OtpDeps {
  codes: CodeSource
  /** Milliseconds. */
  otpLifetime: number
}

/** A new code, which is not stored yet. @param now milliseconds since the epoch */
export const newOtp = (deps: OtpDeps, now: number, subject: OtpSubject): OtpOfTap & { code: string } => ({
  code: deps.codes.code(),
  type: subject.type,
  tokenRow: subject.type === 'PHYGITAL_CLAIM' ? subject.tokenRow : null,
  badgeEventId: subject.type === 'POAP_EVENT' ? subject.badgeEventId : null,
  guestbookEventId: subject.type === 'GUESTBOOK_EVENT' ? subject.guestbookEventId : null,
  expiresAt: iso(now + deps.otpLifetime),
})

/** @returns the code */
export async function makeOtp(
  db: Queries,
  deps: OtpDeps,
  { chipUid, tapId, tappedAt, now }: Origin,
  subject: OtpSubject,
): Promise<string> {
  const { code, ...otp } = newOtp(deps, now, subject)
  await insertOtp(db, code, { ...otp, chipUid, tapId, createdAt: tappedAt })
  return code
}

/**
 * The subject of a chip lookup's code, in order: token, first badge event if active, mint, that badge event, first
 * guestbook event.
 */
export function firstSubject(carried: ChipAssets): OtpSubject | undefined {
  const [badge] = carried.badgeEvents
  const [guestbook] = carried.guestbookEvents
  if (carried.token) return { type: 'PHYGITAL_CLAIM', tokenRow: carried.token.row }
  if (carried.isUnminted && badge?.status !== 'active') return { type: 'PHYGITAL_CLAIM', tokenRow: null }
  if (badge) return { type: 'POAP_EVENT', badgeEventId: badge.id }
  return guestbook && { type: 'GUESTBOOK_EVENT', guestbookEventId: guestbook.id }
}

interface DescribedOtp {
  otp: OtpRow
  isExpired: boolean
  token: LocatedToken | undefined
  badgeEvent: (BadgeEventRow & { status: BadgeStatus }) | undefined
  guestbookEvent: LocatedGuestbookEvent | undefined
}

type Reading = { db: Pick<Db, 'read'>; clock: Clock }

/** Does not use the code. A used code reads as expired. @throws DomainError not_found */
export async function describeOtp({ db, clock }: Reading, code: string): Promise<DescribedOtp> {
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

/** Only the team of the code's chip can delete it. @throws DomainError not_found */
export async function removeOtp(
  { db, clock }: { db: Db; clock: Clock },
  team: { id: number; actor: Actor },
  code: string,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const otp = isCode(code) ? await findOtp(trx, code) : undefined
    const chip = otp && (await findChip(trx, otp.chipUid))
    if (!otp || chip?.teamId !== team.id || !(await deleteOtp(trx, code, at))) throw notFound('OTP')
    // The audit log must not contain the code itself.
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

const tapAgain = 'Tap the chip again for a new one.'
const meantFor: Record<OtpRow['type'], string> = {
  PHYGITAL_CLAIM: 'claims a token',
  POAP_EVENT: 'mints a badge',
  GUESTBOOK_EVENT: 'signs a guestbook',
}

/** Does not use the code. @throws DomainError otp_unknown, otp_deleted, otp_used, otp_expired, otp_unsupported */
export async function presentCode(
  { db, clock }: Reading,
  code: string,
  type: OtpRow['type'],
): Promise<OtpRow> {
  const otp = isCode(code) ? await findOtp(db.read, code) : undefined
  assertGood(otp, iso(clock.now()))
  if (otp.type !== type)
    throw new DomainError(
      'otp_unsupported',
      `This code ${meantFor[otp.type]}, but this request needs one that ${meantFor[type]}. It is still good.`,
    )
  return otp
}

/** Of concurrent attempts, one succeeds. @throws DomainError why the code is not valid, which undoes the write */
export async function spendCode(trx: Queries, code: string, now: string): Promise<void> {
  if (await takeOtp(trx, code, now)) return
  assertGood(await findOtp(trx, code), now)
  throw new Error('a code that is good could not be taken')
}

function assertGood(otp: FoundOtp | undefined, now: string): asserts otp is FoundOtp {
  if (!otp) throw new DomainError('otp_unknown', `This code does not exist. ${tapAgain}`)
  if (otp.deletedAt !== null) throw new DomainError('otp_deleted', `This code was deleted. ${tapAgain}`)
  if (otp.usedAt !== null) throw new DomainError('otp_used', `This code has already been used. ${tapAgain}`)
  if (otp.isEnded || otp.expiresAt <= now)
    throw new DomainError('otp_expired', `This code has expired. ${tapAgain}`)
}
