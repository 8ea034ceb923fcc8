import { byPlan } from '../../../values/batch.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findChipRecord, voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import type { Queries } from '../../store/database/database.ts'
import {
  deleteGuestbookChips,
  guestbookChips,
  insertGuestbookChips,
} from '../../store/guestbook/guestbook-assignments.ts'
import { findGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import { ownChips } from '../chips/named-chips.ts'
import { notFound } from '../errors/errors.ts'

/** When the event was assigned to the chip; null: it is not assigned. */
type AssignedSince = string | null

export interface GuestbookRow {
  readonly row: number
  /** Decimal; the second reading applies if the team has no chip with the first. */
  readonly uids: readonly string[]
  readonly guestbookEventId: number
  /** `since`: for an undo, the previous value. */
  readonly to: 'assigned' | 'unassigned' | { readonly since: AssignedSince }
  /** For an undo: the expected current state. */
  readonly left?: AssignedSince
}

export interface GuestbookResult {
  readonly row: number
  readonly uid: string
  readonly guestbookEventId: number
  readonly status: 'assigned' | 'unassigned' | 'unchanged' | 'failed' | 'conflict'
  readonly error?: string
  /** Before and after. */
  readonly previous?: AssignedSince
  readonly left?: AssignedSince
}

interface Caller {
  readonly teamId: number
  readonly actor: Actor
}

interface EventState {
  readonly isOwn: boolean
  readonly name: string
  readonly since: Map<string, string>
}

/**
 * Decides on each row by the current state of the database. Rows of the same chip are applied in order.
 * @param planned each row's planned result, if any
 */
export async function decideGuestbookRows(
  db: Queries,
  { teamId }: Caller,
  rows: readonly GuestbookRow[],
  { at, planned = [] }: { at: string; planned?: readonly (GuestbookResult | undefined)[] },
): Promise<GuestbookResult[]> {
  const chips = await ownChips(db, teamId, rows)
  const events = new Map<number, EventState>()
  const results: GuestbookResult[] = []
  for (const [n, row] of rows.entries()) {
    const { guestbookEventId, uids } = row
    const event = events.get(guestbookEventId) ?? (await eventOf(db, teamId, guestbookEventId, chips))
    events.set(guestbookEventId, event)
    const about = { row: row.row, uid: chips[n] ?? uids[0] ?? '', guestbookEventId }
    const missing = chips[n] === undefined ? 'chip' : event.isOwn ? undefined : 'guestbook event'
    const now: GuestbookResult =
      missing === undefined
        ? await decide(db, { row, about, event, at })
        : { ...about, status: 'failed', error: notFound(missing).message }
    const before = planned[n]
    const verdict = byPlan(now.status, before?.status, () => now.previous === before?.previous)
    if (verdict === 'conflict') {
      const error = 'The assignment was changed in the meantime, and is left as it is.'
      results.push({ ...about, status: 'conflict', error })
    } else if (verdict === 'as planned' && before) results.push(before)
    else {
      results.push(now)
      if (now.left === null) event.since.delete(now.uid)
      else if (now.left !== undefined) event.since.set(now.uid, now.left)
    }
  }
  return results
}

async function eventOf(
  db: Queries,
  teamId: number,
  id: number,
  chips: readonly (string | undefined)[],
): Promise<EventState> {
  const event = await findGuestbookEvent(db, id)
  const named = chips.flatMap((uid) => uid ?? [])
  return {
    isOwn: event?.teamId === teamId,
    name: event?.name ?? '',
    since: await guestbookChips(db, id, named),
  }
}

interface DecisionInput {
  readonly row: GuestbookRow
  readonly about: Pick<GuestbookResult, 'row' | 'uid' | 'guestbookEventId'>
  readonly event: EventState
  readonly at: string
}

async function decide(db: Queries, { row, about, event, at }: DecisionInput): Promise<GuestbookResult> {
  const { to, left } = row
  const previous = event.since.get(about.uid) ?? null
  const since = to === 'assigned' ? at : to === 'unassigned' ? null : to.since
  if ((previous === null) === (since === null)) {
    const chip = left && previous === null ? await findChipRecord(db, about.uid) : undefined
    if (chip == null || chip.replacedBy === null) return { ...about, status: 'unchanged', previous }
    const error = 'The chip was replaced in the meantime, and the chip in its place has the event now.'
    return { ...about, status: 'failed', error }
  }
  if (left !== undefined && previous !== left) {
    const error = 'Somebody has assigned the event to the chip again in the meantime. It was left as it is.'
    return { ...about, status: 'failed', error }
  }
  return { ...about, status: since === null ? 'unassigned' : 'assigned', previous, left: since }
}

/** A step of a larger write: applies what was decided in the same transaction. */
export async function assignGuestbookRowsIn(
  trx: Queries,
  { teamId, actor }: Caller,
  results: readonly GuestbookResult[],
  at: string,
): Promise<void> {
  for (const { guestbookEventId, before, left, uids } of groupSameChanges(results)) {
    if (before !== null) await deleteGuestbookChips(trx, guestbookEventId, uids)
    if (left !== null) {
      await insertGuestbookChips(trx, { guestbookEventId, createdAt: left }, uids)
      await voidSimulatedTaps(trx, uids)
    }
    if (before === left) continue
    const event = await findGuestbookEvent(trx, guestbookEventId)
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: `guestbook.${left === null ? 'unassign' : 'assign'}`,
      target: uids.length === 1 ? (uids[0] ?? '') : `${uids.length} chips`,
      detail: {
        eventId: guestbookEventId,
        name: event?.name,
        [left === null ? 'unassigned' : 'assigned']: uids.length,
        uids,
      },
      chips: uids,
    })
  }
}

interface SameChange {
  readonly guestbookEventId: number
  readonly before: AssignedSince
  readonly left: AssignedSince
  readonly uids: string[]
}

/**
 * Identical changes to many chips are one statement: from the state before a chip's first row to that after its last.
 */
function groupSameChanges(results: readonly GuestbookResult[]): Iterable<SameChange> {
  const changes = new Map<
    string,
    { uid: string; guestbookEventId: number; before: AssignedSince; left: AssignedSince }
  >()
  for (const { uid, guestbookEventId, previous = null, left } of results) {
    if (left === undefined) continue
    const key = `${guestbookEventId} ${uid}`
    changes.set(key, { uid, guestbookEventId, before: changes.get(key)?.before ?? previous, left })
  }
  const groups = new Map<string, SameChange>()
  for (const { uid, ...change } of changes.values()) {
    const key = JSON.stringify([change.guestbookEventId, change.before === null, change.left])
    const group = groups.get(key)
    if (group) group.uids.push(uid)
    else groups.set(key, { ...change, uids: [uid] })
  }
  return groups.values()
}
