import { decimalReading } from '../../../nfc/uid.ts'
import { AdaptiveSize, piecesOf } from '../../../values/time-slices.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  assignBadgeEventToChip,
  findBadgeEvent,
  type NewAssignment,
  putBadgeAssignment,
} from '../../store/badge-events/badge-events.ts'
import { voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import { uidsOfToken } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { teamOfChip } from '../chips/named-chips.ts'
import { invalid, notFound } from '../errors/errors.ts'
import { tokenOfTeam } from '../phygitals/target.ts'
import { type Clock, iso } from '../time/time.ts'
import { type AssignmentResult, type AssignmentRow, assignRowsIn, decideAssignments } from './assign-rows.ts'

interface NewAssignmentInput {
  badgeEventId: number
  /** A chip, or all of a token's chips, including later ones. */
  to: { uid: string } | { token: TokenLocation }
  /** ISO 8601; undefined: open. */
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
  assignment: NewAssignmentInput,
): Promise<'unchanged' | 'replaced' | 'assigned'> {
  const { startsAt = null, endsAt = null } = assignment
  if (startsAt !== null && endsAt !== null && endsAt < startsAt)
    throw invalid('endsAt', `must not be before startsAt: the window would be from ${startsAt} to ${endsAt}`)
  const token = 'token' in assignment.to ? await tokenOfTeam(deps, teamId, assignment.to.token) : undefined
  const uid = 'uid' in assignment.to ? await ownUid(deps.db.read, teamId, assignment.to.uid) : undefined
  const at = iso(deps.clock.now())
  return deps.db.write(async (trx) => {
    const event = await findBadgeEvent(trx, assignment.badgeEventId)
    if (event?.teamId !== teamId) throw notFound('badge event')
    const to: NewAssignment['to'] = token ? { tokenRow: token.id } : { chipUid: uid ?? '' }
    const outcome = await putBadgeAssignment(trx, {
      badgeEventId: event.id,
      to,
      startsAt,
      endsAt,
      title: assignment.title ?? '',
      description: assignment.description ?? '',
      createdAt: at,
      batch: actor.batch ?? null,
    })
    if (outcome === 'unchanged') return outcome
    if (uid !== undefined) await voidSimulatedTaps(trx, [uid])
    const detail = { badgeEvent: event.id, from: startsAt, until: endsAt }
    const target = token ? `${token.contractAddress}/${token.tokenId}` : (uid ?? '')
    const chips = token ? await uidsOfToken(trx, token.id) : []
    await recordChange(trx, { at, actor, teamId, action: 'badge-events.assign', target, detail, chips })
    return outcome
  })
}

/** A step of a larger write: assigns an event to a chip, unless it is assigned already. */
export async function ensureAssignedIn(
  trx: Queries,
  assignment: Parameters<typeof assignBadgeEventToChip>[1],
): Promise<void> {
  if (await assignBadgeEventToChip(trx, assignment)) await voidSimulatedTaps(trx, [assignment.chipUid])
}

/** @throws DomainError not_found */
async function ownUid(db: Queries, teamId: number, text: string): Promise<string> {
  for (const uid of [text, decimalReading(text)])
    if (uid !== undefined && (await teamOfChip(db, uid)) === teamId) return uid
  throw notFound('chip')
}

/** `unchanged`: the chip no longer has the event. */
type UnassignResult = { status: 'removed' | 'unchanged' } | { status: 'failed'; error: string }

const batchSize = { min: 50, max: 250 }

/**
 * Takes events from the chips to which requests of a batch assigned them, as its undo would. Rows fail independently.
 * @returns one result per row, in order
 */
export async function undoAssignments(
  { db, clock }: { db: Db; clock: Clock },
  { teamId, actor }: { teamId: number; actor: Actor },
  input: {
    batch: string
    assignments: readonly { uid: string; badgeEventId: number }[]
    dryRun: boolean
  },
): Promise<UnassignResult[]> {
  const { batch, assignments, dryRun } = input
  const caller = { teamId, actor, id: batch }
  const size = new AdaptiveSize(batchSize)
  const results: UnassignResult[] = []
  for await (const piece of piecesOf(assignments, size)) {
    const rows = piece.map(
      ({ uid, badgeEventId }, row): AssignmentRow => ({
        row,
        uids: [uid],
        badgeEventId,
        to: null,
        expected: { batch },
      }),
    )
    const undo = async (trx: Queries): Promise<UnassignResult[]> => {
      const at = iso(clock.now())
      const decided = await decideAssignments(trx, caller, rows, { at })
      if (!dryRun) await assignRowsIn(trx, caller, rows, decided, at)
      return decided.map(onWire)
    }
    results.push(
      ...(await (dryRun ? undo(db.read) : db.write((trx) => size.timed(piece.length, () => undo(trx))))),
    )
  }
  return results
}

/** A chip that does not belong to the team has none of its events either. */
const onWire = ({ status, error = '', previous }: AssignmentResult): UnassignResult => {
  if (status === 'unassigned') return { status: 'removed' }
  return status === 'failed' && previous !== undefined ? { status, error } : { status: 'unchanged' }
}
