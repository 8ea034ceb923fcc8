import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import type { TappedChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { hasGuestbook } from '../../store/guestbook/guestbook-assignments.ts'
import { findGuestbookEvent, type LocatedGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import { findToken, type LocatedToken } from '../../store/phygitals/tokens.ts'
import type { BadgeEventRow } from '../../store/schema/schema.ts'
import {
  type CodeSubject,
  deleteCode,
  hashCode,
  isAssigned,
  madeCodes,
  spentCodesOf,
  subjectKey,
  takeCode,
} from '../../store/taps/codes.ts'
import { findTapOfCodes, type TapOfCodes } from '../../store/taps/recorded-taps.ts'
import { type BadgeStatus, badgeStatus } from '../chips/badge-status.ts'
import type { ChipAssets } from '../chips/chip-record.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { assertNotKept, settleIfKept } from './kept-claims.ts'
import { isOf, type Seals } from './seals.ts'

export { hashCode }

/** A code, with the state derived from its tap and its uses. */
export interface Otp {
  codeHash: string
  subject: CodeSubject
  type: CodeSubject['type']
  tokenRow: number | null
  badgeEventId: number | null
  guestbookEventId: number | null
  chipUid: string
  /** The chip's team; null: the chip was removed. */
  teamId: number | null
  tapId: number
  /** The number of codes that the tap has made. */
  made: number
  /** When the chip was tapped; ISO 8601. */
  createdAt: string
  /** ISO 8601; if the code ended early, that time or an earlier one. */
  expiresAt: string
  isEnded: boolean
  /** It belongs to a reservation. */
  isKept: boolean
  usedAt: string | null
  deletedAt: string | null
  /** See keepSignature. */
  signature: Uint8Array | null
}

export interface OtpDeps {
  seals: Seals
  /** Milliseconds. */
  otpLifetime: number
}

/**
 * The subject of a chip lookup's code, in order: token, first badge event if active, mint, that badge event, first
 * guestbook event. @param claimRound of the chip
 */
export function firstSubject(
  carried: ChipAssets,
  { claimRound: round }: Pick<TappedChip, 'claimRound'>,
): CodeSubject | undefined {
  const [badge] = carried.badgeEvents
  const [guestbook] = carried.guestbookEvents
  if (carried.token) return { type: 'PHYGITAL_CLAIM', tokenRow: carried.token.row, round }
  if (carried.isUnminted && badge?.status !== 'active')
    return { type: 'PHYGITAL_CLAIM', tokenRow: null, round }
  if (badge) return { type: 'POAP_EVENT', badgeEventId: badge.id, assignmentId: badge.assignmentId }
  return guestbook && { type: 'GUESTBOOK_EVENT', guestbookEventId: guestbook.id }
}

type Finding = { seals: Seals }

/** Undefined if the code never existed, or its tap is no longer stored. */
export async function findOtp(db: Queries, { seals }: Finding, code: string): Promise<Otp | undefined> {
  const sealed = seals.openCode(code)
  const tap = sealed && (await findTapOfCodes(db, sealed.tapId))
  if (!tap || !isOf(sealed, tap)) return undefined
  const { ordinal } = sealed
  const made = madeCodes(tap.codes)
  const last = made.at(-1)
  for (const { by, until, subjects, first } of made) {
    const subject = subjects[ordinal - first]
    const all = last ? last.first + last.subjects.length : 0
    const isKept = by === 'kept'
    if (subject)
      return otpOf(db, tap, { codeHash: hashCode(code), until, subject, ordinal, made: all, isKept })
  }
  return undefined
}

async function otpOf(
  db: Queries,
  tap: TapOfCodes,
  {
    codeHash,
    until,
    subject,
    ordinal,
    made,
    isKept,
  }: Pick<Otp, 'codeHash' | 'subject' | 'made' | 'isKept'> & { until: string; ordinal: number },
): Promise<Otp> {
  const key = subjectKey(subject)
  const spent = (await spentCodesOf(db, tap.tapId)).filter((one) => one.subject === key)
  const own = spent.find((one) => one.codeHash === codeHash)
  // The first code of a tap that is used ends its other codes for the same subject.
  const other = spent.find(
    (one) => one.codeHash !== codeHash && one.takenAt !== null && ordinal < one.madeThen,
  )
  const endedAt = other?.takenAt ?? (await endOf(db, tap, subject))
  return {
    codeHash,
    subject,
    type: subject.type,
    tokenRow: subject.type === 'PHYGITAL_CLAIM' ? subject.tokenRow : null,
    badgeEventId: subject.type === 'POAP_EVENT' ? subject.badgeEventId : null,
    guestbookEventId: subject.type === 'GUESTBOOK_EVENT' ? subject.guestbookEventId : null,
    chipUid: tap.chipUid ?? '',
    teamId: tap.teamId,
    tapId: tap.tapId,
    made,
    createdAt: tap.at,
    expiresAt: endedAt !== undefined && endedAt < until ? endedAt : until,
    isEnded: endedAt !== undefined,
    isKept,
    usedAt: own?.usedAt ?? null,
    deletedAt: own?.deletedAt ?? null,
    signature: own?.signature ?? null,
  }
}

/** When a code ended early for a reason other than its use; the time of its tap if that is unknown. */
async function endOf(db: Queries, tap: TapOfCodes, subject: CodeSubject): Promise<string | undefined> {
  if (tap.isEnded) return tap.endedAt !== null && tap.endedAt > tap.at ? tap.endedAt : tap.at
  if (subject.type === 'PHYGITAL_CLAIM' && subject.round !== tap.claimRound)
    return tap.claimsEndedAt ?? tap.at
  if (subject.type === 'POAP_EVENT' && !(await isAssigned(db, subject.assignmentId))) return tap.at
  if (subject.type !== 'GUESTBOOK_EVENT' || tap.chipUid === null) return undefined
  const { guestbookEventId } = subject
  if (!(await hasGuestbook(db, { chipUid: tap.chipUid, guestbookEventId }))) return tap.at
  return undefined
}

interface DescribedOtp {
  otp: Otp
  isExpired: boolean
  token: LocatedToken | undefined
  badgeEvent: (BadgeEventRow & { status: BadgeStatus }) | undefined
  guestbookEvent: LocatedGuestbookEvent | undefined
}

export type OtpReadDeps = Finding & { db: Pick<Db, 'read'>; clock: Clock }

/** Does not use the code. A used code reads as expired. @throws DomainError not_found */
export async function describeOtp(deps: OtpReadDeps, code: string): Promise<DescribedOtp> {
  const { db, clock } = deps
  const otp = await findOtp(db.read, deps, code)
  if (!otp || otp.deletedAt !== null) throw notFound('OTP')
  const now = iso(clock.now())
  const badge = otp.badgeEventId === null ? undefined : await findBadgeEvent(db.read, otp.badgeEventId)
  return {
    otp,
    isExpired: otp.usedAt !== null || isExpired(otp, now),
    token: otp.tokenRow === null ? undefined : await findToken(db.read, otp.tokenRow),
    badgeEvent: badge && { ...badge, status: badgeStatus(badge, now) },
    guestbookEvent:
      otp.guestbookEventId === null ? undefined : await findGuestbookEvent(db.read, otp.guestbookEventId),
  }
}

const spendingOf = ({ codeHash, chipUid, tapId, subject, made }: Otp) => ({
  codeHash,
  chipUid,
  tapId,
  made,
  subject: subjectKey(subject),
})

/** Only the team of the code's chip can delete it. @throws DomainError not_found */
export async function removeOtp(
  deps: Finding & { db: Db; clock: Clock },
  team: { id: number; actor: Actor },
  code: string,
): Promise<void> {
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const otp = await findOtp(trx, deps, code)
    if (otp?.teamId !== team.id || !(await deleteCode(trx, spendingOf(otp), at))) throw notFound('OTP')
    // The audit log must not contain the code itself.
    const detail = { type: otp.type, tap: otp.tapId }
    await recordChange(trx, {
      at,
      actor: team.actor,
      teamId: team.id,
      action: 'otps.delete',
      target: otp.chipUid,
      detail,
    })
  })
}

const tapAgain = 'Tap the chip again for a new one.'
const meantFor: Record<Otp['type'], string> = {
  PHYGITAL_CLAIM: 'claims a token',
  POAP_EVENT: 'mints a badge',
  GUESTBOOK_EVENT: 'signs a guestbook',
}

/** Does not use the code. @throws DomainError otp_unknown, otp_deleted, otp_used, otp_expired, otp_unsupported */
export async function presentCode(deps: OtpReadDeps, code: string, type: Otp['type']): Promise<Otp> {
  const otp = await findOtp(deps.db.read, deps, code)
  const now = iso(deps.clock.now())
  assertGood(otp, now)
  await assertNotKept(deps.db.read, otp, now)
  if (otp.type !== type)
    throw new DomainError(
      'otp_unsupported',
      `This code ${meantFor[otp.type]}, but this request needs one that ${meantFor[type]}. It is still good.`,
    )
  return otp
}

/** Exactly one of concurrent attempts succeeds. @throws DomainError why the code is not valid; rolls the write back */
export async function spendCode(trx: Queries, deps: Finding, code: string, now: string): Promise<void> {
  const otp = await findOtp(trx, deps, code)
  assertGood(otp, now)
  if (await takeCode(trx, spendingOf(otp), now)) {
    // Only now: taking the code locks the chip, so that nobody can keep its claim at the same moment.
    await assertNotKept(trx, otp, now)
    // The same badge can be requested again while its provider does not answer, but goes to a wallet once.
    if (otp.type !== 'POAP_EVENT') await settleIfKept(trx, otp, now)
    return
  }
  assertGood(await findOtp(trx, deps, code), now)
  throw new Error('a code that is good could not be taken')
}

/** @param now ISO 8601 */
export const isExpired = ({ isEnded, expiresAt }: Otp, now: string): boolean => isEnded || expiresAt <= now

function assertGood(otp: Otp | undefined, now: string): asserts otp is Otp {
  if (!otp) throw new DomainError('otp_unknown', `This code does not exist. ${tapAgain}`)
  if (otp.deletedAt !== null) throw new DomainError('otp_deleted', `This code was deleted. ${tapAgain}`)
  if (otp.usedAt !== null) throw new DomainError('otp_used', `This code has already been used. ${tapAgain}`)
  if (isExpired(otp, now)) throw new DomainError('otp_expired', `This code has expired. ${tapAgain}`)
}
