import { byPlan } from '../../../values/batch.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  type Assignment,
  assignmentsOf,
  deleteAssignments,
  detachFromBatch,
  mintedSince,
  putAssignments,
} from '../../store/badge-events/badge-assignments.ts'
import { findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import { findChipRecord, voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import type { Queries } from '../../store/database/database.ts'
import { ownChips } from '../chips/named-chips.ts'
import { notFound } from '../errors/errors.ts'

export type { Assignment }
/** The assignment's window and texts. */
export type AssignmentContent = Pick<Assignment, 'startsAt' | 'endsAt' | 'title' | 'description'>

export interface AssignmentRow {
  readonly row: number
  /** Decimal; the second reading applies if the team has no chip with the first. */
  readonly uids: readonly string[]
  readonly badgeEventId: number
  /** The desired assignment; null: none. For an undo, all members are the previous values. */
  readonly to: AssignmentContent | Assignment | null
  /** For an undo: the expected current assignment, or the batch that made it. */
  readonly expected?: Assignment | { readonly batch: string } | null
}

export interface AssignmentResult {
  readonly row: number
  readonly uid: string
  readonly badgeEventId: number
  readonly status: 'assigned' | 'unassigned' | 'unchanged' | 'failed' | 'conflict'
  readonly error?: string
  /** The chip already had the event, with another window or text. */
  readonly replaced?: boolean
  /** The assignment before and after; null: none. */
  readonly previous?: Assignment | null
  readonly left?: Assignment | null
}

interface Caller {
  readonly teamId: number
  readonly actor: Actor
  /** ID of the batch. */
  readonly id: string
}

const contentOf = ({ startsAt, endsAt, title, description }: AssignmentContent): string =>
  JSON.stringify([startsAt, endsAt, title, description])
const isAlike = (one: AssignmentContent | null, other: AssignmentContent | null): boolean =>
  one === null || other === null ? one === other : contentOf(one) === contentOf(other)

interface EventState {
  readonly isOwn: boolean
  readonly of: Map<string, Assignment>
  readonly minted: ReadonlySet<string>
}

/**
 * Decides on each row by the current state of the database. Rows of the same chip are applied in order.
 * @param planned each row's planned result, if any
 */
export async function decideAssignments(
  db: Queries,
  { teamId, id }: Caller,
  rows: readonly AssignmentRow[],
  { at, planned = [] }: { at: string; planned?: readonly (AssignmentResult | undefined)[] },
): Promise<AssignmentResult[]> {
  const chips = await ownChips(db, teamId, rows)
  const events = await eventsOf(db, teamId, rows, chips)
  const results: AssignmentResult[] = []
  for (const [n, row] of rows.entries()) {
    const uid = chips[n]
    const event = events.get(row.badgeEventId)
    const result =
      uid === undefined || !event?.isOwn
        ? failed(row, notFound(uid === undefined ? 'chip' : 'badge event').message)
        : await decide(db, { row, uid, event, at, batch: id })
    const bound = boundByPlan(result, planned[n])
    if (event && bound === result && result.left !== undefined)
      if (result.left === null) event.of.delete(result.uid)
      else event.of.set(result.uid, result.left)
    results.push(bound)
  }
  return results
}

/** Events named by rows, with the current assignments of the rows' chips. */
async function eventsOf(
  db: Queries,
  teamId: number,
  rows: readonly AssignmentRow[],
  chips: readonly (string | undefined)[],
): Promise<Map<number, EventState>> {
  const events = new Map<number, EventState>()
  for (const badgeEventId of new Set(rows.map((row) => row.badgeEventId))) {
    const named = rows.flatMap((row, n) => (row.badgeEventId === badgeEventId ? (chips[n] ?? []) : []))
    const isUndo = rows.some(({ expected: left }) => left !== undefined)
    events.set(badgeEventId, {
      isOwn: (await findBadgeEvent(db, badgeEventId))?.teamId === teamId,
      of: await assignmentsOf(db, badgeEventId, named),
      minted: isUndo ? await mintedSince(db, badgeEventId, named) : new Set(),
    })
  }
  return events
}

const failed = ({ row, uids: [uid = ''], badgeEventId }: AssignmentRow, error: string): AssignmentResult => ({
  ...{ row, uid, badgeEventId, status: 'failed', error },
})

interface PreviousState {
  readonly previous: Assignment | null
}

interface DecisionInput {
  readonly row: AssignmentRow
  readonly uid: string
  readonly event: EventState
  readonly at: string
  readonly batch: string
}

async function decide(db: Queries, { row, uid, event, at, batch }: DecisionInput): Promise<AssignmentResult> {
  const { badgeEventId, to } = row
  const about = { row: row.row, uid, badgeEventId }
  const previous = event.of.get(uid) ?? null
  const why = row.expected === undefined ? undefined : await whyNot(db, { row, uid, previous, event })
  if (why !== undefined) return { ...about, status: 'failed', error: why, previous }
  if (isAlike(previous, to)) return { ...about, status: 'unchanged', previous }
  if (to === null) return { ...about, status: 'unassigned', previous, left: null }
  const { startsAt, endsAt, title, description } = to
  const made = 'createdAt' in to ? to : { createdAt: previous?.createdAt ?? at, batch }
  const left = { startsAt, endsAt, title, description, createdAt: made.createdAt, batch: made.batch }
  return { ...about, status: 'assigned', ...(previous ? { replaced: true } : {}), previous, left }
}

/**
 * Returns why an undo leaves the chip alone; undefined: the chip is unchanged since the batch, or already restored.
 */
async function whyNot(
  db: Queries,
  {
    row: { expected: left = null, to },
    uid,
    previous,
    event,
  }: Omit<DecisionInput, 'at' | 'batch'> & PreviousState,
): Promise<string | undefined> {
  const leftUnchanged = 'It was left as it is.'
  if (previous === null) {
    const chip = left === null ? undefined : await findChipRecord(db, uid)
    if (chip != null && chip.replacedBy !== null)
      return 'The chip was replaced in the meantime, and the chip in its place has the event now.'
    return left === null || to === null
      ? undefined
      : `The event was unassigned from the chip in the meantime. ${leftUnchanged}`
  }
  if (isAlike(previous, to)) return undefined
  if (left !== null && previous.batch !== null && previous.batch !== left.batch)
    return `Another batch assigned the event to the chip. ${leftUnchanged}`
  const isOther = left === null || ('createdAt' in left && !isAlike(previous, left))
  if (isOther || previous.batch !== left.batch)
    return `The chip has the event in another way, or somebody has assigned it again in the meantime. ${leftUnchanged}`
  return to === null && event.minted.has(uid)
    ? `A badge was minted with a code from the chip in the meantime. ${leftUnchanged}`
    : undefined
}

function boundByPlan(now: AssignmentResult, planned: AssignmentResult | undefined): AssignmentResult {
  const isUnchanged = () => isAlike(now.previous ?? null, planned?.previous ?? null)
  const verdict = byPlan(now.status, planned?.status, isUnchanged)
  if (verdict !== 'conflict') return (verdict === 'as planned' && planned) || now
  const { row, uid, badgeEventId } = now
  const error = 'The assignment was changed in the meantime, and is left as it is.'
  return { row, uid, badgeEventId, status: 'conflict', error }
}

/** A step of a larger write: applies what was decided in the same transaction. */
export async function assignRowsIn(
  trx: Queries,
  caller: Caller,
  rows: readonly AssignmentRow[],
  results: readonly AssignmentResult[],
  at: string,
): Promise<void> {
  const assigned = results.filter(({ status }) => status === 'assigned')
  for (const { badgeEventId, uids, left } of groupSameChanges(results)) {
    if (left === null) await deleteAssignments(trx, badgeEventId, uids)
    else await putAssignments(trx, badgeEventId, left, uids)
    const { startsAt: from, endsAt: until } = left ?? {}
    await recordChange(trx, {
      at,
      actor: caller.actor,
      teamId: caller.teamId,
      action: `badge-events.${left === null ? 'unassign' : 'assign'}`,
      target: uids.length === 1 ? (uids[0] ?? '') : `${uids.length} chips`,
      detail: {
        badgeEvent: badgeEventId,
        ...(left === null ? {} : { from, until }),
        ...(uids.length === 1 ? {} : { uids }),
      },
      chips: uids,
    })
  }
  if (assigned.length > 0)
    await voidSimulatedTaps(
      trx,
      assigned.map(({ uid }) => uid),
    )
  const relied = results.filter(({ status }, n) => status === 'unchanged' && rows[n]?.expected === undefined)
  for (const badgeEventId of new Set(relied.map((one) => one.badgeEventId))) {
    const uids = relied.flatMap((one) => (one.badgeEventId === badgeEventId ? one.uid : []))
    await detachFromBatch(trx, { uids, badgeEventId, batch: caller.id })
  }
}

interface SameChange {
  readonly badgeEventId: number
  readonly left: Assignment | null
  readonly uids: string[]
}

/** Identical changes to many chips are one statement. Of several rows for one chip, the last counts. */
function groupSameChanges(results: readonly AssignmentResult[]): Iterable<SameChange> {
  const last = new Map<string, AssignmentResult>()
  for (const result of results)
    if (result.left !== undefined) last.set(`${result.badgeEventId} ${result.uid}`, result)
  const groups = new Map<string, SameChange>()
  for (const { badgeEventId, uid, left = null } of last.values()) {
    const key = JSON.stringify([badgeEventId, left])
    const group = groups.get(key)
    if (group) group.uids.push(uid)
    else groups.set(key, { badgeEventId, left, uids: [uid] })
  }
  return groups.values()
}
