import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { claimsCount, claimsOfEvent } from '../../store/badge-events/badge-claims.ts'
import {
  findBadgeEvent,
  type ListedBadgeEvent,
  listBadgeEvents,
  setApproval,
} from '../../store/badge-events/badge-events.ts'
import { isPoapEvent } from '../../store/badge-events/badge-upstream.ts'
import type { Db } from '../../store/database/database.ts'
import { heldBadges } from '../../store/reservations/kept-badges.ts'
import type { BadgeClaimRow, BadgeEventRow } from '../../store/schema/schema.ts'
import { type BadgeStatus, badgeStatus } from '../chips/badge-status.ts'
import { conflict, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

export type { BadgeEventRow }

type ReadDeps = { db: Pick<Db, 'read'> }

/** Newest first, with their current status. */
export async function badgeEventsNow(
  { db, clock }: ReadDeps & { clock: Clock },
  filter: Parameters<typeof listBadgeEvents>[1],
): Promise<(ListedBadgeEvent & { status: BadgeStatus })[]> {
  const now = iso(clock.now())
  return (await listBadgeEvents(db.read, filter)).map((event) => ({
    ...event,
    status: badgeStatus(event, now),
  }))
}

/** An event's claims, newest first. @throws DomainError not_found */
export async function badgeClaims(
  { db }: ReadDeps,
  of: Pick<Actor, 'ofTeam'>,
  id: number,
  page: { before?: number | undefined; limit: number },
): Promise<BadgeClaimRow[]> {
  ownOf(of, await findBadgeEvent(db.read, id), 'badge event')
  return claimsOfEvent(db.read, id, page)
}

/** Repeating a decision changes nothing. @throws DomainError not_found, conflict (POAP decides on its own events) */
export async function decideOnBadgeEvent(
  { db, clock }: { db: Db; clock: Clock },
  actor: Actor,
  id: number,
  approval: 'approved' | 'rejected',
): Promise<BadgeEventRow> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const event = ownOf(actor, await findBadgeEvent(trx, id), 'badge event')
    if (await isPoapEvent(trx, id))
      throw conflict("This event is at POAP, which decides on it. Its status follows POAP's decision.")
    const out = (await claimsCount(trx, id)) + (await heldBadges(trx, id))
    const codes = { remainingCodes: Math.max(0, event.requestedCodes - out) }
    const change = approval === 'approved' ? { approval, ...codes } : { approval }
    if (!(await setApproval(trx, id, change))) return event
    const action = approval === 'approved' ? 'badge-events.approve' : 'badge-events.reject'
    await recordChange(trx, { at, actor, teamId: event.teamId, action, target: String(id) })
    return { ...event, ...change }
  })
}
