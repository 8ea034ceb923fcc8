import type { AssignedBadgeEvent } from '../store/badge-events.ts'
import type { BadgeEventRow } from '../store/schema.ts'
import { dayEnd, dayStart } from './time.ts'

export type BadgeStatus = 'pending-approval' | 'future' | 'active' | 'expired' | 'rejected'

/** The provider's decision, else by dates, which are whole days in UTC. */
export function badgeStatus(
  event: Pick<BadgeEventRow, 'approval' | 'startDate' | 'expiryDate'>,
  now: string,
): BadgeStatus {
  if (event.approval === 'rejected') return 'rejected'
  if (event.approval === 'pending') return 'pending-approval'
  if (now < dayStart(event.startDate)) return 'future'
  return now > dayEnd(event.expiryDate) ? 'expired' : 'active'
}

/** An assignment's own window overrides the event's dates. */
export function isListed(event: AssignedBadgeEvent, now: string): boolean {
  return (
    (event.startsAt ?? dayStart(event.startDate)) <= now && now <= (event.endsAt ?? dayEnd(event.endDate))
  )
}
