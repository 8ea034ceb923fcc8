import { AdaptiveSize, piecesOf } from '../../../values/time-slices.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { type Clock, iso } from '../time/time.ts'
import { type AssignmentResult, assignRowsIn, decideAssignments } from './assign-rows.ts'

/** `unchanged`: the chip no longer has the event. */
type UnassignResult = { status: 'removed' | 'unchanged' } | { status: 'failed'; error: string }

const batchSize = { least: 50, most: 250 }

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
    const rows = piece.map(({ uid, badgeEventId }, row) => ({
      ...{ row, uids: [uid], badgeEventId, to: null, left: { batch } },
    }))
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

/** What is not the team's has no event of the team's either. */
const onWire = ({ status, error = '', previous }: AssignmentResult): UnassignResult => {
  if (status === 'unassigned') return { status: 'removed' }
  return status === 'failed' && previous !== undefined ? { status, error } : { status: 'unchanged' }
}
