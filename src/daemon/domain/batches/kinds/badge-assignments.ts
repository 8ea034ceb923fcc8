import { uidOnWire } from '../../../../nfc/uid.ts'
import { isJsonObject, type JsonObject } from '../../../../values/json.ts'
import {
  type Assignment,
  type AssignmentContent,
  type AssignmentResult,
  type AssignmentRow,
  assignRowsIn,
  decideAssignments,
} from '../../badge-events/assign-rows.ts'
import { iso } from '../../time/time.ts'
import type { WrittenKind } from '../kind.ts'
import {
  idIn,
  instantIn,
  LineProblem,
  lineReader,
  refuseOthers,
  repeatedEvent,
  textIn,
  uidsIn,
} from './lines.ts'

type AssignmentKind = WrittenKind<AssignmentRow, AssignmentResult>

const contents = ['startsAt', 'endsAt', 'title', 'description']
const ofUndo = ['previous', 'left']
const known = new Set(['row', 'uid', 'badgeEventId', ...contents, ...ofUndo])

/** @throws LineProblem */
function contentIn(line: JsonObject): AssignmentContent {
  const [startsAt, endsAt] = [instantIn(line, 'startsAt'), instantIn(line, 'endsAt')]
  if (startsAt !== null && endsAt !== null && endsAt < startsAt)
    throw new LineProblem(
      `endsAt must not be before startsAt: the window would be from ${startsAt} to ${endsAt}`,
    )
  return {
    startsAt,
    endsAt,
    title: textIn(line, 'title', 500) ?? '',
    description: textIn(line, 'description', 5000) ?? '',
  }
}

/** Parses an assignment from a result. @throws LineProblem */
function assignmentIn(line: JsonObject, name: string): Assignment | null {
  const of = line[name]
  if (of === null) return null
  if (!isJsonObject(of)) throw new LineProblem(`${name} must be an object, or null`)
  const createdAt = instantIn(of, 'createdAt')
  if (createdAt === null) throw new LineProblem(`${name}.createdAt is missing`)
  return { ...contentIn(of), createdAt, batch: textIn(of, 'batch', 64) ?? null }
}

const readRow = lineReader<AssignmentRow, { kind: string }>((line, row, { kind }) => {
  refuseOthers(line, known)
  const about = { row, uids: uidsIn(line), badgeEventId: idIn(line, 'badgeEventId') }
  if (ofUndo.some((name) => line[name] !== undefined))
    return { ...about, to: assignmentIn(line, 'previous'), expected: assignmentIn(line, 'left') }
  return { ...about, to: kind === 'badge-events assign' ? contentIn(line) : null }
})

const common = {
  how: 'written',
  isAdmin: false,
  // Taps of the chips will then give codes, or stop doing so.
  scope: 'transfer',
  readRow,
  async plan({ db, clock }, run, rows, seen) {
    const results = await decideAssignments(db.read, run, rows, { at: iso(clock.now()) })
    return results.map((result) => {
      const { row, uid, badgeEventId } = result
      const repeated = repeatedEvent(result, badgeEventId, seen)
      return repeated ? { row, uid, badgeEventId, ...repeated } : result
    })
  },
  totals: (_, results) => ({ replaces: results.filter(({ replaced }) => replaced).length }),
  rowsPerWrite: { min: 50, max: 500 },
  async write(trx, { clock }, run, rows) {
    const at = iso(clock.now())
    const plain = rows.map(({ row }) => row)
    const planned = rows.map((one) => one.planned)
    const results = await decideAssignments(trx, run, plain, { at, planned })
    await assignRowsIn(trx, run, plain, results, at)
    return results
  },
} satisfies Partial<AssignmentKind>

/** The opposite of what the batch did to a chip; it may restore a window or a text. */
const taking = (kind: string): AssignmentKind['undo'] => ({
  kind,
  row: ({ row, badgeEventId }, { uid, status, previous, left }) =>
    status === 'assigned' || status === 'unassigned'
      ? { row, uid: uidOnWire(uid), badgeEventId, previous, left }
      : undefined,
})

export const badgeAssignment: AssignmentKind = {
  ...common,
  names: ['badge-events assign'],
  undo: taking('badge-events unassign'),
}

export const badgeUnassignment: AssignmentKind = {
  ...common,
  names: ['badge-events unassign'],
  undo: taking('badge-events assign'),
}
