import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { BadgeEventRow } from '../schema/schema.ts'

/** An event with its image, for people who do not belong to its team. */
export interface ShownBadgeEvent extends BadgeEventRow {
  /** File name; null: not kept here. */
  imageFile: string | null
  /** At POAP; empty for events from before it was kept. null: the event is not at POAP. */
  poapImageUrl: string | null
}

const withImages = (db: Queries) =>
  db
    .selectFrom('badgeEvents')
    .leftJoin('badgeImages', 'badgeImages.badgeEventId', 'badgeEvents.id')
    .leftJoin('poapEvents', 'poapEvents.badgeEventId', 'badgeEvents.id')
    .selectAll('badgeEvents')
    .select(['badgeImages.file as imageFile', 'poapEvents.imageUrl as poapImageUrl'])

const byId = statement<{ id: number }>()((db, p) => withImages(db).where('badgeEvents.id', '=', p.id))

export const findShownEvent = (db: Queries, id: number): Promise<ShownBadgeEvent | undefined> =>
  byId.first(db, { id })

/** @param upstreamId of the embedded provider */
export const findShownEventAt = (db: Queries, upstreamId: number): Promise<ShownBadgeEvent | undefined> =>
  withImages(db)
    .where('badgeEvents.provider', '=', 'embedded')
    .where('badgeEvents.upstreamId', '=', upstreamId)
    .executeTakeFirst()

export interface HeldBadge extends ShownBadgeEvent {
  claimId: number
  claimedAt: string | null
}

/** @param eventId upstream, of the embedded provider */
export async function isBadgeMinted(
  db: Queries,
  { eventId, claimId }: { eventId: number; claimId: number },
): Promise<boolean> {
  const found = await db
    .selectFrom('badgeClaims')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'badgeClaims.badgeEventId')
    .select('badgeClaims.id')
    .where('badgeClaims.id', '=', claimId)
    .where('badgeClaims.state', '=', 'claimed')
    .where('badgeEvents.provider', '=', 'embedded')
    .where('badgeEvents.upstreamId', '=', eventId)
    .executeTakeFirst()
  return found !== undefined
}

/**
 * The badges of an address at the embedded provider, newest first. @param recipient EIP-55 @param upstreamId of the
 * only event to look at
 */
export const badgesHeldBy = (
  db: Queries,
  { recipient, upstreamId }: { recipient: string; upstreamId?: number },
  limit: number,
): Promise<HeldBadge[]> =>
  withImages(db)
    .innerJoin('badgeClaims', 'badgeClaims.badgeEventId', 'badgeEvents.id')
    .select(['badgeClaims.id as claimId', 'badgeClaims.claimedAt'])
    .where('badgeClaims.recipient', '=', recipient)
    .$if(upstreamId !== undefined, (query) => query.where('badgeEvents.upstreamId', '=', upstreamId ?? 0))
    .where('badgeClaims.codeNumber', 'is', null)
    .where('badgeClaims.state', '=', 'claimed')
    .orderBy('badgeClaims.id', 'desc')
    .limit(limit)
    .execute()
