import { decimalReading } from '../../../nfc/uid.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import type { Db, Queries } from '../../store/database.ts'
import { assignGuestbookEvent } from '../../store/guestbook-events.ts'
import { notOfTeam } from '../../store/sqlite-chips.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { eventOfTeam } from './find.ts'

const unknownNamed = 20
const uidsInRecord = 100

/**
 * Assigns an event to chips, to all of them or to none: from then on their taps give codes for it. Where it is
 * assigned already, nothing changes. @throws DomainError not_found naming chips that are not the team's
 */
export async function assignEvent(
  deps: { db: Db; clock: Clock },
  { teamId, actor }: { teamId: number; actor: Actor },
  { eventId, uids: given }: { eventId: number; uids: readonly string[] },
): Promise<void> {
  const event = await eventOfTeam(deps, teamId, { eventId })
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const uids = await chipsOfTeam(trx, teamId, given)
    let assigned = 0
    for (const chipUid of uids)
      assigned += await assignGuestbookEvent(trx, { guestbookEventId: event.id, chipUid, createdAt: at })
    if (assigned === 0) return
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'guestbook.assign',
      target: uids.length === 1 ? (uids[0] ?? '') : `${uids.length} chips`,
      detail: { eventId: event.id, name: event.name, assigned, uids: uids.slice(0, uidsInRecord) },
    })
  })
}

/** The chips meant, each once. @throws DomainError not_found */
async function chipsOfTeam(trx: Queries, teamId: number, given: readonly string[]): Promise<string[]> {
  let uids = [...new Set(given)]
  let unknown = new Set(await notOfTeam(trx, teamId, uids))
  if (unknown.size > 0) {
    uids = [...new Set(uids.map((uid) => (unknown.has(uid) ? (decimalReading(uid) ?? uid) : uid)))]
    unknown = new Set(await notOfTeam(trx, teamId, uids))
  }
  if (unknown.size === 0) return uids
  const named = [...unknown].slice(0, unknownNamed)
  const more = unknown.size - named.length
  throw new DomainError(
    'not_found',
    `tagUIDs names chips that your team does not have: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Nothing was changed.`,
  )
}
