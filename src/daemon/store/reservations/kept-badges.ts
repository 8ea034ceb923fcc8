import { countCodeIn } from '../badge-events/badge-events.ts'
import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'

interface KeptBadge {
  tapId: number
  badgeEventId: number
}

/** Call it where one of the event's codes was counted out. @param otpHash of the claim that uses the code at once */
export const holdBadge = (db: Queries, badge: KeptBadge, otpHash: string | null = null): Promise<number> =>
  affected(db.insertInto('keptBadges').values({ ...badge, otpHash }))

/** A claim takes the code over. @returns false if none is held */
export const useBadge = (
  db: Queries,
  { tapId, badgeEventId }: KeptBadge,
  otpHash: string,
): Promise<boolean> =>
  once(
    db
      .updateTable('keptBadges')
      .set({ otpHash })
      .where('tapId', '=', tapId)
      .where('badgeEventId', '=', badgeEventId)
      .where('otpHash', 'is', null),
  )

/** A claim has ended with a badge. */
export const forgetUsedBadge = (db: Queries, otpHash: string): Promise<number> =>
  affected(db.deleteFrom('keptBadges').where('otpHash', '=', otpHash))

const forgetBadge = (db: Queries, { tapId, badgeEventId }: KeptBadge): Promise<boolean> =>
  once(
    db
      .deleteFrom('keptBadges')
      .where('tapId', '=', tapId)
      .where('badgeEventId', '=', badgeEventId)
      .where('otpHash', 'is', null),
  )

/**
 * A claim has ended without a badge: it is kept again. @param hasCode false: its code is lost
 * @returns false if it was not a kept one
 */
export async function keepBadgeAgain(db: Queries, otpHash: string, hasCode: boolean): Promise<boolean> {
  const row = await db
    .updateTable('keptBadges')
    .set({ otpHash: null })
    .where('otpHash', '=', otpHash)
    .returning(['tapId', 'badgeEventId'])
    .executeTakeFirst()
  if (!row) return false
  if (!hasCode) await forgetBadge(db, row)
  // If the reservation has ended, its codes are given back with the next cleanup.
  await affected(
    db
      .updateTable('reservations')
      .set((e) => ({ left: e('left', '+', 1), state: 'kept', endedAt: null }))
      .where('tapId', '=', row.tapId)
      .where('state', 'in', ['kept', 'done']),
  )
  return true
}

/** Gives back the codes of reservations that have ended, or of one. @returns how many */
export async function giveBackBadges(
  db: Queries,
  { tapId, limit = 500 }: { tapId?: number; limit?: number },
): Promise<number> {
  const over = await db
    .selectFrom('keptBadges')
    .select(['tapId', 'badgeEventId'])
    .where('otpHash', 'is', null)
    .$if(tapId !== undefined, (query) => query.where('tapId', '=', tapId ?? 0))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('reservations')
            .select('tapId')
            .whereRef('reservations.tapId', '=', 'keptBadges.tapId')
            .where('state', '=', 'kept'),
        ),
      ),
    )
    .orderBy('badgeEventId')
    .limit(limit)
    .execute()
  for (const { tapId, badgeEventId } of over) {
    if (await forgetBadge(db, { tapId, badgeEventId })) await countCodeIn(db, badgeEventId)
  }
  return over.length
}

/** @returns the number of an event's codes that are held */
export async function heldBadges(db: Queries, badgeEventId: number): Promise<number> {
  const { count } = await db
    .selectFrom('keptBadges')
    .select((e) => e.fn.countAll().as('count'))
    .where('badgeEventId', '=', badgeEventId)
    .where('otpHash', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
