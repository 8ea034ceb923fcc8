import { claimsOfEvent } from '../../store/badge-claims.ts'
import { findBadgeEvent, type ListedBadgeEvent, listBadgeEvents } from '../../store/badge-events.ts'
import type { Db } from '../../store/database.ts'
import type { BadgeClaimRow, BadgeEventRow } from '../../store/schema.ts'
import { type BadgeStatus, badgeStatus } from '../badge-status.ts'
import { notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'

export type { BadgeEventRow }

type Reading = { db: Pick<Db, 'read'> }

/** Newest first, with where each stands now. */
export async function badgeEventsNow(
  { db, clock }: Reading & { clock: Clock },
  filter: Parameters<typeof listBadgeEvents>[1],
): Promise<(ListedBadgeEvent & { status: BadgeStatus })[]> {
  const now = iso(clock.now())
  return (await listBadgeEvents(db.read, filter)).map((event) => ({
    ...event,
    status: badgeStatus(event, now),
  }))
}

/** Who has an event's badges, newest first. @throws DomainError not_found */
export async function badgeClaims(
  { db }: Reading,
  id: number,
  page: { before?: number | undefined; limit: number },
): Promise<BadgeClaimRow[]> {
  if (!(await findBadgeEvent(db.read, id))) throw notFound('badge event')
  return claimsOfEvent(db.read, id, page)
}
