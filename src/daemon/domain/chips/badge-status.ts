import type { AssignedBadgeEvent } from '../../store/badge-events/badge-events.ts'
import type { BadgeEventRow } from '../../store/schema/schema.ts'
import { dayEnd, dayStart } from '../time/time.ts'

export type BadgeStatus = 'pending-approval' | 'future' | 'active' | 'expired' | 'rejected'

/** The provider's decision, else derived from the dates, which are whole days in UTC. */
export function badgeStatus(
  event: Pick<BadgeEventRow, 'approval' | 'startDate' | 'expiryDate'>,
  now: string,
): BadgeStatus {
  if (event.approval === 'rejected') return 'rejected'
  if (event.approval === 'pending') return 'pending-approval'
  if (now < dayStart(event.startDate)) return 'future'
  return now > dayEnd(event.expiryDate) ? 'expired' : 'active'
}

export type ListedBadgeEvent = AssignedBadgeEvent & { status: BadgeStatus }

/**
 * The events whose assignment has no window, or an open one: a tap shows these now. Active ones first, then the
 * newest assignment, because clients read only the first.
 */
export function listedNow(
  assigned: readonly AssignedBadgeEvent[],
  now: string,
  shownAt: string,
): ListedBadgeEvent[] {
  return assigned
    .filter(({ startsAt, endsAt }) => (startsAt ?? shownAt) <= shownAt && shownAt <= (endsAt ?? shownAt))
    .map((event) => ({ ...event, status: badgeStatus(event, now) }))
    .sort((a, b) => rank(a) - rank(b) || b.assignmentId - a.assignmentId)
}

const rank = ({ status }: ListedBadgeEvent): number => (status === 'active' ? 0 : 1)
