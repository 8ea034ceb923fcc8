import { findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import type { Queries } from '../../store/database/database.ts'
import type { CodeSubject } from '../../store/taps/codes.ts'
import { dayEnd, iso } from '../time/time.ts'

const maxDays = 90
const dayMs = 86_400_000

/**
 * When a reservation ends, ISO 8601: after 90 days, with the codes of its tap, or with the events of its badges if it keeps
 * nothing else.
 */
export async function keptUntil(
  trx: Queries,
  { keepTapsDays }: { keepTapsDays: number | 'off' },
  subjects: readonly CodeSubject[],
  now: number,
): Promise<string> {
  const days = keepTapsDays === 'off' ? maxDays : Math.min(maxDays, keepTapsDays)
  let last: string | undefined
  for (const subject of subjects) {
    if (subject.type !== 'POAP_EVENT') return iso(now + days * dayMs)
    const event = await findBadgeEvent(trx, subject.badgeEventId)
    const end = event && dayEnd(event.expiryDate)
    if (end !== undefined && (last === undefined || end > last)) last = end
  }
  const latest = iso(now + days * dayMs)
  return last !== undefined && last < latest ? last : latest
}
