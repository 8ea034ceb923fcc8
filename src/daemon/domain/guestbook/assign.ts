import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { assignToChips } from '../../store/guestbook/guestbook-events.ts'
import { changeInPieces, namedChips } from '../chips/named-chips.ts'
import { type Clock, iso } from '../time/time.ts'
import { eventOfTeam } from './find.ts'

/**
 * All of the chips, or none. Repeating it changes nothing.
 * @returns to how many chips it was newly assigned
 * @throws DomainError not_found naming foreign chips
 */
export async function assignEvent(
  deps: { db: Db; clock: Clock },
  { teamId, actor }: { teamId: number; actor: Actor },
  { eventId, uids: uidTexts }: { eventId: number; uids: readonly string[] },
): Promise<number> {
  const event = await eventOfTeam(deps, teamId, { eventId })
  const at = iso(deps.clock.now())
  const uids = await namedChips(deps.db, teamId, uidTexts)
  let total = 0
  await changeInPieces(deps, { teamId, uids }, async (trx, { uids, target, detail }) => {
    const { there, assigned } = await assignEventIn(trx, { guestbookEventId: event.id, teamId, uids, at })
    total += assigned
    if (assigned === 0) return there
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'guestbook.assign',
      target,
      detail: { eventId: event.id, name: event.name, assigned, uids, ...detail },
      chips: uids,
    })
    return there
  })
  return total
}

/** A step of a larger write: assigns an event to the team's chips among those given. */
export async function assignEventIn(
  trx: Queries,
  of: Parameters<typeof assignToChips>[1],
): ReturnType<typeof assignToChips> {
  const counts = await assignToChips(trx, of)
  if (counts.assigned > 0) await voidSimulatedTaps(trx, of.uids)
  return counts
}
