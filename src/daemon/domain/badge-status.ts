import type { AssignedBadgeEvent } from '../store/badge-events.ts'
import type { BadgeEventRow } from '../store/schema.ts'
import { dayEnd, dayStart } from './time.ts'

export type BadgeStatus = 'pending-approval' | 'future' | 'active' | 'expired' | 'rejected'

/** Where a badge event stands: as its provider says, else by its dates, which are whole days in UTC. */
export function badgeStatus(
  event: Pick<BadgeEventRow, 'approval' | 'startDate' | 'expiryDate'>,
  now: string,
): BadgeStatus {
  if (event.approval === 'rejected') return 'rejected'
  if (event.approval === 'pending') return 'pending-approval'
  if (now < dayStart(event.startDate)) return 'future'
  return now > dayEnd(event.expiryDate) ? 'expired' : 'active'
}

/** Whether an assignment shows its event now: within its own window, or else within the event's days. */
export function isListed(event: AssignedBadgeEvent, now: string): boolean {
  return (
    (event.startsAt ?? dayStart(event.startDate)) <= now && now <= (event.endsAt ?? dayEnd(event.endDate))
  )
}
