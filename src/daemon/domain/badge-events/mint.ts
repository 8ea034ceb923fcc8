import type { Chains } from '../../chain/chains.ts'
import { type KeyedRequest, reserveIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import {
  findClaim,
  findClaimOfOtp,
  hasDeviceClaimed,
  insertClaim,
  takeFreeCode,
  updateClaim,
} from '../../store/badge-events/badge-claims.ts'
import { countCodeOut, findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import { countBadgeOut } from '../../store/badge-events/badge-recipients.ts'
import { isPoapEvent } from '../../store/badge-events/badge-upstream.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { holdBadge, useBadge } from '../../store/reservations/kept-badges.ts'
import type { BadgeClaimRow, BadgeEventRow } from '../../store/schema/schema.ts'
import type { Names } from '../chain/recipients.ts'
import { badgeStatus } from '../chips/badge-status.ts'
import { settleIfKept } from '../codes/kept-claims.ts'
import { hashCode, type Otp, presentCode, spendCode } from '../codes/otps.ts'
import type { Seals } from '../codes/seals.ts'
import { conflict, DomainError, invalid, notFound, type Progress, storeFailure } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { noAccount, type Providers } from './providers.ts'
import { badgeRecipient, deviceHashOf, isRecipient, recipientKey } from './recipient.ts'
import type { MintResult, Settler } from './settle.ts'

export interface MintDeps {
  db: Db
  box: SecretBox
  seals: Seals
  clock: Clock
  chains: Chains
  names: Names
  badges: { providers: Providers; settler: Settler; wake(): void }
  config: { wireBadge: string }
}

interface BadgeRequest {
  recipient: string
  /** The event's ID here or at the provider; the code determines the event. */
  eventId: number
  deviceId: string | undefined
}

/**
 * Reserves a badge for the bearer of a code: uses up the code and takes one of the event's codes in one write.
 * @returns the claim, for `badgeMinted` @throws DomainError of the code, invalid_input, badge_not_active,
 * recipient_invalid, badge_refused (the recipient has one), badge_device_used, badge_codes_gone; the code then stays
 * valid
 */
export async function reserveBadge(
  deps: MintDeps,
  { code, idempotency }: { code: string; idempotency: KeyedRequest | undefined },
  request: BadgeRequest,
): Promise<number> {
  const untold = await findUnreportedMint(deps, code, request)
  if (untold !== undefined) return untold
  const otp = await presentCode(deps, code, 'POAP_EVENT')
  const event = await eventOf(deps.db.read, otp)
  if (request.eventId !== event.id && request.eventId !== event.upstreamId)
    throw invalid('poapEventId', `must be ${event.id}, the event that the code is for`)
  const isAtPoap = await isPoapEvent(deps.db.read, event.id)
  const before = await findClaimOfOtp(deps.db.read, otp.codeHash)
  if (!before) assertActive(event, iso(deps.clock.now()))
  if (isAtPoap && !deps.badges.providers.poap) throw outOfReach({ retryAfterMs: 60_000, reason: noAccount })
  const recipient = await badgeRecipient(deps, { chip: otp.chipUid }, request.recipient, isAtPoap)
  const deviceHash = request.deviceId ? deviceHashOf(deps.box, request.deviceId) : null
  return deps.db.write(async (trx) => {
    const now = iso(deps.clock.now())
    await spendCode(trx, deps, code, now)
    const open = await findClaimOfOtp(trx, otp.codeHash)
    const id = open
      ? await resumeClaim(trx, deps.box, open, recipient)
      : await reserve(trx, deps, { otp, recipient, deviceHash, isAtPoap, now })
    if (idempotency) await reserveIdempotencyKey(trx, idempotency, id)
    return id
  })
}

const reserved: Progress = {
  isWritten: true,
  outcomeMessage:
    'The badge is reserved for this recipient. Send the same request again, with the same code: it gets one badge.',
}

/** Delivers a reserved badge. @throws DomainError badge_refused, badge_codes_gone, badge_unavailable */
export async function badgeMinted({ db, badges }: MintDeps, id: number): Promise<void> {
  try {
    const settled = await badges.settler.settle(id, true)
    if (settled.kind !== 'claimed') throw refusalOf(settled)
    // The background loop may have completed it; record that the client now knows.
    if ((await findClaim(db.read, id))?.isAnswered === 0)
      await db.write((trx) => updateClaim(trx, id, { isAnswered: 1 }))
  } catch (error) {
    badges.wake()
    throw storeFailure(error, reserved) ?? error
  }
}

/** A mint may complete after its client was told to try again; then the repeated request gets the result. */
async function findUnreportedMint(
  deps: MintDeps,
  code: string,
  request: BadgeRequest,
): Promise<number | undefined> {
  const claim = await findClaimOfOtp(deps.db.read, hashCode(code))
  if (claim?.state !== 'claimed' || claim.isAnswered === 1) return undefined
  const event = await findBadgeEvent(deps.db.read, claim.badgeEventId)
  if (request.eventId !== event?.id && request.eventId !== event?.upstreamId) return undefined
  const requester = { chip: claim.chipUid }
  const recipient = await badgeRecipient(deps, requester, request.recipient, claim.codeNumber !== null)
  return isRecipient(deps.box, claim.recipient, recipient) ? claim.id : undefined
}

async function eventOf(db: Queries, otp: Otp): Promise<BadgeEventRow> {
  const event = otp.badgeEventId === null ? undefined : await findBadgeEvent(db, otp.badgeEventId)
  if (!event) throw notFound('badge event')
  return event
}

const notActive = {
  'pending-approval': 'is not approved yet. Try again once it is',
  rejected: 'was not approved',
  expired: 'has ended: its badges can no longer be claimed',
  future: 'has not started',
} as const

function assertActive(event: BadgeEventRow, now: string): void {
  const status = badgeStatus(event, now)
  if (status === 'active') return
  const days =
    status === 'future' || status === 'expired' ? ` (${event.startDate} to ${event.expiryDate}, UTC)` : ''
  throw new DomainError(
    'badge_not_active',
    `The event "${event.name}" ${notActive[status]}${days}. The code is still good.`,
  )
}

async function resumeClaim(
  trx: Queries,
  box: SecretBox,
  open: BadgeClaimRow,
  recipient: string,
): Promise<number> {
  if (!isRecipient(box, open.recipient, recipient))
    throw conflict(
      'This code was used to request a badge for another recipient, and the provider has not confirmed the result yet. Use the same recipient, or try again later.',
    )
  await updateClaim(trx, open.id, { dueAt: null })
  return open.id
}

interface Reservation {
  otp: Otp
  recipient: string
  deviceHash: string | null
  isAtPoap: boolean
  now: string
}

async function reserve(
  trx: Queries,
  { box, config }: Pick<MintDeps, 'box' | 'config'>,
  request: Reservation,
): Promise<number> {
  const { otp, recipient, deviceHash, isAtPoap, now } = request
  const { id: badgeEventId, ...event } = await eventOf(trx, otp)
  assertActive({ ...event, id: badgeEventId }, now)
  const place = { badgeEventId, recipient: recipientKey(box, recipient), max: event.maxPerRecipient }
  if (!isAtPoap && !(await countBadgeOut(trx, place))) throw hasBadge(config.wireBadge)
  if (deviceHash !== null && (await hasDeviceClaimed(trx, { badgeEventId, deviceHash })))
    throw new DomainError(
      'badge_device_used',
      'This device has already minted a badge of this event, and each device can mint only one. The code is still good.',
    )
  const { codeHash: otpHash, chipUid, tapId, isKept } = otp
  const held = { tapId, badgeEventId }
  const isHeld = isKept && (await useBadge(trx, held, otpHash))
  const counted = isHeld || (await countCodeOut(trx, badgeEventId))
  const codeNumber = counted && isAtPoap ? await takeFreeCode(trx, badgeEventId) : null
  if (!counted || codeNumber === undefined) throw noCodesLeft()
  if (isKept && !isHeld) await holdBadge(trx, held, otpHash)
  await settleIfKept(trx, otp, now)
  return insertClaim(trx, {
    badgeEventId,
    codeNumber,
    otpHash,
    chipUid,
    recipient,
    deviceHash,
    createdAt: now,
  })
}

/** In POAP's own words, which clients look for. */
const hasBadge = (wireBadge: string): DomainError =>
  new DomainError(
    'badge_refused',
    `You already minted a ${wireBadge === 'poap' ? 'POAP' : wireBadge} for this drop.`,
  )

const noCodesLeft = (): DomainError =>
  new DomainError('badge_codes_gone', 'All badges of this event have been claimed. The code is still good.')

function refusalOf(settled: Exclude<MintResult, { kind: 'claimed' }>): DomainError {
  switch (settled.kind) {
    case 'codes-gone':
      return noCodesLeft()
    case 'refused':
      return new DomainError('badge_refused', settled.message)
    case 'unavailable':
    case 'open':
      return outOfReach(settled)
  }
}

const outOfReach = ({ retryAfterMs, reason }: { retryAfterMs: number; reason: string }): DomainError =>
  new DomainError(
    'badge_unavailable',
    'The badge provider cannot be reached. Nothing is lost and the code is still good: repeat the same request.',
    { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)), cause: new Error(reason) },
  )
