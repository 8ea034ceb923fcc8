import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { BadgeClaimRow, BadgeClaimsTable } from './schema.ts'
import { statement } from './statement.ts'

/** @returns its id */
export async function insertClaim(
  db: Queries,
  claim: Pick<
    Insertable<BadgeClaimsTable>,
    'badgeEventId' | 'codeNumber' | 'otpHash' | 'chipUid' | 'recipient' | 'deviceHash' | 'createdAt'
  >,
): Promise<number> {
  const fresh = { ...claim, state: 'open' as const, attempts: 0, isSent: 0, isAnswered: 0 }
  return (await db.insertInto('badgeClaims').values(fresh).returning('id').executeTakeFirstOrThrow()).id
}

const byId = statement<{ id: number }>()((db, p) =>
  db.selectFrom('badgeClaims').selectAll().where('id', '=', p.id),
)
export const findClaim = (db: Queries, id: number): Promise<BadgeClaimRow | undefined> =>
  byId.first(db, { id })

const ofOtp = statement<{ otpHash: string }>()((db, p) =>
  db.selectFrom('badgeClaims').selectAll().where('otpHash', '=', p.otpHash),
)
export const findClaimOfOtp = (db: Queries, otpHash: string): Promise<BadgeClaimRow | undefined> =>
  ofOtp.first(db, { otpHash })

const ofDevice = statement<{ badgeEventId: number; deviceHash: string }>()((db, p) =>
  db
    .selectFrom('badgeClaims')
    .select('id')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('deviceHash', '=', p.deviceHash),
)
export const hasDeviceClaimed = async (
  db: Queries,
  device: { badgeEventId: number; deviceHash: string },
): Promise<boolean> => (await ofDevice.first(db, device)) !== undefined

export async function updateClaim(
  db: Queries,
  id: number,
  change: Partial<Omit<BadgeClaimRow, 'id'>>,
): Promise<void> {
  await db.updateTable('badgeClaims').set(change).where('id', '=', id).execute()
}

export async function deleteClaim(db: Queries, id: number): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('badgeClaims').where('id', '=', id).executeTakeFirst()
  return numDeletedRows === 1n
}

/** What is to be looked at by now: open claims, and transactions that are under way. */
export const dueClaims = (db: Queries, now: string, limit: number): Promise<BadgeClaimRow[]> =>
  db.selectFrom('badgeClaims').selectAll().where('dueAt', '<=', now).orderBy('dueAt').limit(limit).execute()

/** Of an event, newest first; an open one is not there yet, and yet its code is gone. */
export function claimsOfEvent(
  db: Queries,
  badgeEventId: number,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<BadgeClaimRow[]> {
  let query = db
    .selectFrom('badgeClaims')
    .selectAll()
    .where('badgeEventId', '=', badgeEventId)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  return query.execute()
}

/** Claims that a request had in hand when the daemon ended. */
export const abandonedClaims = (db: Queries): Promise<BadgeClaimRow[]> =>
  db.selectFrom('badgeClaims').selectAll().where('state', '=', 'open').where('dueAt', 'is', null).execute()

/** The code of a claim that is still open can be presented again, to ask for the same once more. */
export async function makeOtpGood(db: Queries, codeHash: string): Promise<void> {
  await db.updateTable('otps').set({ usedAt: null }).where('codeHash', '=', codeHash).execute()
}

/** Uses the code of a claim up, where it was made good in between; the tap's other codes have ended already. */
export async function endOtp(db: Queries, codeHash: string, now: string): Promise<void> {
  await db
    .updateTable('otps')
    .set({ usedAt: now })
    .where('codeHash', '=', codeHash)
    .where('usedAt', 'is', null)
    .execute()
}

/**
 * Undoes what taking a code did: it is good again, and so are the tap's other codes for the event, which ended with
 * it. @param takenAt when it was first taken
 */
export async function restoreOtp(db: Queries, codeHash: string, takenAt: string): Promise<void> {
  await makeOtpGood(db, codeHash)
  const otp = await db.selectFrom('otps').selectAll().where('codeHash', '=', codeHash).executeTakeFirst()
  if (!otp) return
  const ended = await db
    .selectFrom('otps')
    .select(['codeHash', 'createdAt'])
    .where('chipUid', '=', otp.chipUid)
    .where('tapId', '=', otp.tapId)
    .where('type', '=', otp.type)
    .where('badgeEventId', '=', otp.badgeEventId)
    .where('expiresAt', '=', takenAt)
    .where('usedAt', 'is', null)
    .execute()
  const lifetime = Date.parse(otp.expiresAt) - Date.parse(otp.createdAt)
  for (const other of ended) {
    const expiresAt = new Date(Date.parse(other.createdAt) + lifetime).toISOString()
    await db.updateTable('otps').set({ expiresAt }).where('codeHash', '=', other.codeHash).execute()
  }
}

/** Forgets the Idempotency-Keys of a mint that came to nothing: with its key the request may be tried again. */
export async function forgetMintKeys(db: Queries, { id, otpHash }: { id: number; otpHash: string }) {
  await db
    .deleteFrom('idempotencyKeys')
    .where('scope', '=', `code:${otpHash}`)
    .where('transactionId', '=', id)
    .execute()
}

export async function claimsCount(db: Queries, badgeEventId: number): Promise<number> {
  const { count } = await db
    .selectFrom('badgeClaims')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('badgeEventId', '=', badgeEventId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
