import { recordChange } from '../../store/audit/audit.ts'
import {
  type CodeOutcome,
  deleteClaim,
  findClaim,
  forgetMintKeys,
  requeueCode,
  settleCode,
  takeFreeCode,
  updateClaim,
} from '../../store/badge-events/badge-claims.ts'
import { countCodeIn, countCodeOut, findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import { countBadgeIn } from '../../store/badge-events/badge-recipients.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import { forgetUsedBadge, keepBadgeAgain } from '../../store/reservations/kept-badges.ts'
import type { BadgeClaimRow } from '../../store/schema/schema.ts'
import { endCode, makeCodeGood, restoreCode } from '../../store/taps/codes.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { recipientKey } from './recipient.ts'

// The ways in which a claim can end, each in one write. A claim that has already ended is left alone.

const isOpen = async (trx: Queries, id: number): Promise<boolean> =>
  (await findClaim(trx, id))?.state === 'open'

/** The provider confirmed the claim. @param dueAt when to ask for its transaction; null: there will be none */
export async function closeClaim(
  trx: Queries,
  { webhookEvents }: { webhookEvents: WebhookEvents },
  claim: BadgeClaimRow,
  { now, dueAt, isAnswered }: { now: string; dueAt: string | null; isAnswered: boolean },
): Promise<void> {
  if (!(await isOpen(trx, claim.id))) return
  await endCode(trx, claim.otpHash, now)
  await forgetUsedBadge(trx, claim.otpHash)
  await updateClaim(trx, claim.id, {
    state: 'claimed',
    claimedAt: now,
    attempts: 0,
    reason: null,
    dueAt,
    isAnswered: Number(isAnswered),
    ...(dueAt === null ? {} : { transactionState: 'pending' as const }),
  })
  const event = await findBadgeEvent(trx, claim.badgeEventId)
  await recordChange(trx, {
    at: now,
    actor: { name: 'code', requestId: null },
    teamId: event?.teamId ?? null,
    action: 'badge-events.mint',
    target: String(claim.badgeEventId),
    detail: { claim: claim.id, chip: claim.chipUid },
    chips: [claim.chipUid],
  })
  const { badgeEventId, recipient, chipUid } = claim
  await webhookEvents.record(trx, {
    teamId: event?.teamId ?? null,
    type: 'badge.minted',
    at: now,
    data: { badgeEventId, recipient, uid: chipUid },
    chipUid,
  })
}

/** The claim failed: its code is free again unless lost, its OTP is valid again, its recipient has no badge, and a kept one is kept on. */
export async function releaseClaim(
  trx: Queries,
  box: SecretBox,
  claim: BadgeClaimRow,
  fate: CodeOutcome = 'free',
): Promise<void> {
  if (!(await isOpen(trx, claim.id))) return
  const { id, badgeEventId, codeNumber, otpHash } = claim
  await deleteClaim(trx, id)
  if (codeNumber !== null) await settleCode(trx, { badgeEventId, number: codeNumber }, fate)
  else await countBadgeIn(trx, { badgeEventId, recipient: recipientKey(box, claim.recipient) })
  const isKept = await keepBadgeAgain(trx, otpHash, fate !== 'lost')
  if (fate !== 'lost' && !isKept) await countCodeIn(trx, badgeEventId)
  await restoreCode(trx, otpHash)
  await forgetMintKeys(trx, { id, otpHash })
}

/** The result is unknown: the code stays reserved, and the OTP can repeat the same request. */
export async function leaveOpen(
  trx: Queries,
  claim: BadgeClaimRow,
  { dueAt, reason }: { dueAt: string; reason: string },
): Promise<void> {
  if (!(await isOpen(trx, claim.id))) return
  await updateClaim(trx, claim.id, { attempts: claim.attempts + 1, dueAt, reason })
  await makeCodeGood(trx, claim.otpHash)
}

/** A code assumed lost goes to the end of the queue. */
export async function releaseCode(trx: Queries, badgeEventId: number, number: number): Promise<void> {
  if (await requeueCode(trx, { badgeEventId, number })) await countCodeIn(trx, badgeEventId)
}

/** Replaces a code that cannot be claimed. @returns the claim with its next code, or undefined if none is left */
export async function swapCode(
  trx: Queries,
  box: SecretBox,
  claim: BadgeClaimRow,
  fate: Exclude<CodeOutcome, 'free'>,
): Promise<BadgeClaimRow | undefined> {
  const { id, badgeEventId, codeNumber } = claim
  const next = (await countCodeOut(trx, badgeEventId)) ? await takeFreeCode(trx, badgeEventId) : undefined
  if (next === undefined) {
    await releaseClaim(trx, box, claim, fate)
    return undefined
  }
  if (codeNumber !== null) await settleCode(trx, { badgeEventId, number: codeNumber }, fate)
  if (fate === 'behind') await countCodeIn(trx, badgeEventId)
  // The next code has never been sent.
  const change = { codeNumber: next, attempts: 0, isSent: 0 }
  await updateClaim(trx, id, change)
  return { ...claim, ...change }
}
