import { Pace, piecesOf } from '../../../values/slices.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import {
  deleteAssignment,
  findAssignment,
  isAssignmentOpen,
  type MadeAssignment,
} from '../../store/badge-assignments.ts'
import { findChipRecord } from '../../store/chip-records.ts'
import type { Db, Queries } from '../../store/database.ts'
import { type Clock, iso } from '../time.ts'

/** `unchanged`: the chip no longer has the event. */
export type Unassigned = { status: 'removed' | 'unchanged' } | { status: 'failed'; error: string }

type Deps = { db: Db; clock: Clock }
interface Undoing {
  batch: string
  assignments: readonly { uid: string; badgeEventId: number }[]
  dryRun: boolean
}

const atOnce = { least: 50, most: 250 }

/**
 * Takes events from the chips to which a batch assigned them, where no badge was minted with them since. Codes that
 * were not used are void. Rows fail independently. @returns one result per row, in order
 */
export async function undoAssignments(
  deps: Deps,
  { teamId, actor }: { teamId: number; actor: Actor },
  { batch, assignments, dryRun }: Undoing,
): Promise<Unassigned[]> {
  const { db, clock } = deps
  const at = iso(clock.now())
  const pace = new Pace(atOnce)
  const results: Unassigned[] = []
  for await (const piece of piecesOf(assignments, pace)) {
    const undo = async (db: Queries): Promise<Unassigned[]> => {
      const done: Unassigned[] = []
      for (const { uid, badgeEventId } of piece) {
        const made = { batch, teamId, uid, badgeEventId }
        const isDone = await (dryRun ? isAssignmentOpen : deleteAssignment)(db, made)
        done.push(isDone ? { status: 'removed' } : await whyNot(db, made))
        if (!isDone || dryRun) continue
        const detail = { badgeEvent: badgeEventId, assignedBy: batch }
        await recordChange(db, { at, actor, teamId, action: 'badge-events.unassign', target: uid, detail })
      }
      return done
    }
    results.push(
      ...(await (dryRun ? undo(db.read) : db.write((trx) => pace.timed(piece.length, () => undo(trx))))),
    )
  }
  return results
}

async function whyNot(db: Queries, made: MadeAssignment): Promise<Unassigned> {
  const refused = (why: string): Unassigned => ({ status: 'failed', error: `${why} It was left as it is.` })
  const there = await findAssignment(db, made)
  if (there === undefined) {
    const chip = await findChipRecord(db, made.uid)
    return chip?.teamId === made.teamId && chip.replacedBy !== null
      ? {
          status: 'failed',
          error: 'The chip was replaced since, and the chip in its place has the event now.',
        }
      : { status: 'unchanged' }
  }
  if (there.batch === made.batch) return refused('A badge was minted with a code from the chip since.')
  if (there.batch === null)
    return refused('The chip had the event before the batch, or somebody has assigned it again since.')
  return refused('Another batch assigned the event to the chip.')
}
