import { decimalReading } from '../../../nfc/uid.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import {
  assignBadgeEventToChip,
  findBadgeEvent,
  type NewAssignment,
  putBadgeAssignment,
} from '../../store/badge-events.ts'
import { voidSimulatedTaps } from '../../store/chip-records.ts'
import type { Db, Queries } from '../../store/database.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { teamOfChip } from '../chips/named-chips.ts'
import { invalid, notFound } from '../errors.ts'
import { tokenOfTeam } from '../phygitals/find-token.ts'
import { type Clock, dayEnd, dayStart, iso } from '../time.ts'

interface WantedAssignment {
  badgeEventId: number
  /** A chip, or all of a token's chips, including later ones. */
  to: { uid: string } | { token: TokenLocation }
  /** ISO 8601; undefined: the event's own dates. */
  startsAt: string | undefined
  endsAt: string | undefined
  title: string | undefined
  description: string | undefined
}

/**
 * Assigning again replaces the window and the texts.
 * @returns `replaced` only to a batch, whose undo will not restore them. @throws DomainError not_found, invalid_input
 */
export async function assignBadgeEvent(
  deps: { db: Db; clock: Clock },
  { teamId, actor }: { teamId: number; actor: Actor },
  wanted: WantedAssignment,
): Promise<'unchanged' | 'replaced' | 'assigned'> {
  const { startsAt, endsAt } = wanted
  const token = 'token' in wanted.to ? await tokenOfTeam(deps, teamId, wanted.to.token) : undefined
  const uid = 'uid' in wanted.to ? await ownUid(deps.db.read, teamId, wanted.to.uid) : undefined
  const at = iso(deps.clock.now())
  return deps.db.write(async (trx) => {
    const event = await findBadgeEvent(trx, wanted.badgeEventId)
    if (event?.teamId !== teamId) throw notFound('badge event')
    const from = startsAt ?? dayStart(event.startDate)
    const until = endsAt ?? dayEnd(event.endDate)
    if (until < from)
      throw invalid(
        endsAt === undefined ? 'startsAt' : 'endsAt',
        `must leave a valid window: it would be from ${from} to ${until}`,
      )
    const to: NewAssignment['to'] = token ? { tokenRow: token.id } : { chipUid: uid ?? '' }
    const outcome = await putBadgeAssignment(trx, {
      badgeEventId: event.id,
      to,
      startsAt: startsAt ?? null,
      endsAt: endsAt ?? null,
      title: wanted.title ?? '',
      description: wanted.description ?? '',
      createdAt: at,
      batch: actor.batch ?? null,
    })
    if (outcome === 'unchanged') return outcome
    if (uid !== undefined) await voidSimulatedTaps(trx, [uid])
    const detail = { badgeEvent: event.id, from, until }
    const target = token ? `${token.contractAddress}/${token.tokenId}` : (uid ?? '')
    await recordChange(trx, { at, actor, teamId, action: 'badge-events.assign', target, detail })
    return outcome
  })
}

/** A step of a larger write: assigns an event to chips for its own dates, unless it is assigned already. */
export async function ensureAssignedIn(
  trx: Queries,
  { badgeEventId, uids, at: createdAt }: { badgeEventId: number; uids: readonly string[]; at: string },
): Promise<void> {
  const assigned: string[] = []
  for (const chipUid of uids)
    if (await assignBadgeEventToChip(trx, { badgeEventId, chipUid, createdAt })) assigned.push(chipUid)
  if (assigned.length > 0) await voidSimulatedTaps(trx, assigned)
}

/** @throws DomainError not_found */
async function ownUid(db: Queries, teamId: number, given: string): Promise<string> {
  for (const uid of [given, decimalReading(given)])
    if (uid !== undefined && (await teamOfChip(db, uid)) === teamId) return uid
  throw notFound('chip')
}
