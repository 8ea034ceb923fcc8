import type { Queries } from './database.ts'
import type { BadgeEventRow } from './schema.ts'

/** An event that lives at POAP. */
export interface PoapEvent extends BadgeEventRow {
  secretCode: Buffer
  polls: number
  pollUntil: string | null
}

/** Where its secret code is sealed to: it opens in no other row. */
export const secretCodePlace = (badgeEventId: number): string => `poapEvents:${badgeEventId}:secretCode`

export async function insertPoapEvent(
  db: Queries,
  event: { badgeEventId: number; secretCode: Buffer; pollAt: string },
): Promise<void> {
  await db
    .insertInto('poapEvents')
    .values({ ...event, polls: 0, pollUntil: null })
    .execute()
}

export async function isPoapEvent(db: Queries, badgeEventId: number): Promise<boolean> {
  const query = db.selectFrom('poapEvents').select('badgeEventId').where('badgeEventId', '=', badgeEventId)
  return (await query.executeTakeFirst()) !== undefined
}

export async function findPoapEvent(
  db: Queries,
  badgeEventId: number,
): Promise<{ upstreamId: number; secretCode: Buffer } | undefined> {
  return db
    .selectFrom('poapEvents')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'poapEvents.badgeEventId')
    .select(['badgeEvents.upstreamId', 'poapEvents.secretCode'])
    .where('badgeEventId', '=', badgeEventId)
    .executeTakeFirst()
}

/** Those of which POAP is to be asked by now, the longest due first. */
export const duePoapEvents = (db: Queries, now: string, limit: number): Promise<PoapEvent[]> =>
  db
    .selectFrom('poapEvents')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'poapEvents.badgeEventId')
    .selectAll('badgeEvents')
    .select(['poapEvents.secretCode', 'poapEvents.polls', 'poapEvents.pollUntil'])
    .where('poapEvents.pollAt', '<=', now)
    .orderBy('poapEvents.pollAt')
    .limit(limit)
    .execute()

export async function setPoll(
  db: Queries,
  badgeEventId: number,
  change: { pollAt: string | null; polls?: number; pollUntil?: string | null },
): Promise<void> {
  await db.updateTable('poapEvents').set(change).where('badgeEventId', '=', badgeEventId).execute()
}

/** When the next event, or the next claim, is to be looked at; undefined: nothing is waiting. */
export async function nextDue(db: Queries): Promise<string | undefined> {
  const [events, claims] = await Promise.all([
    db
      .selectFrom('poapEvents')
      .select((eb) => eb.fn.min('pollAt').as('at'))
      .executeTakeFirst(),
    db
      .selectFrom('badgeClaims')
      .select((eb) => eb.fn.min('dueAt').as('at'))
      .executeTakeFirst(),
  ])
  return [events?.at, claims?.at].filter((at) => at != null).sort()[0]
}
