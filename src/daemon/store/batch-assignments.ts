import type { ExpressionBuilder } from 'kysely'
import type { Queries } from './database.ts'
import type { Database } from './schema.ts'
import { affected, exists, once } from './statement.ts'

/** Whoever assigns what a batch assigned relies on it: an undo of that batch must leave it. */
export const disown = (
  db: Queries,
  { uid, badgeEventId, batch }: { uid: string; badgeEventId: number; batch: string | null },
) =>
  affected(
    db
      .updateTable('badgeAssignments')
      .set({ batch: null })
      .where('chipUid', '=', uid)
      .where('badgeEventId', '=', badgeEventId)
      .where('batch', 'is not', null)
      .where('batch', 'is distinct from', batch),
  )

/** An assignment to a chip, as a batch made it. */
export interface MadeAssignment {
  batch: string
  teamId: number
  uid: string
  badgeEventId: number
}

/** The chip's event as the batch assigned it: nobody has assigned it since, nor minted a badge with it. */
const asAssigned =
  ({ batch, teamId, uid, badgeEventId }: MadeAssignment) =>
  (e: ExpressionBuilder<Database, 'badgeAssignments'>) =>
    e.and([
      e('badgeAssignments.chipUid', '=', uid),
      e('badgeAssignments.badgeEventId', '=', badgeEventId),
      e('badgeAssignments.batch', '=', batch),
      e.exists(
        e
          .selectFrom('badgeEvents')
          .select('badgeEvents.id')
          .whereRef('badgeEvents.id', '=', 'badgeAssignments.badgeEventId')
          .where('badgeEvents.teamId', '=', teamId),
      ),
      e.not(
        e.exists(
          e
            .selectFrom('badgeClaims')
            .select('badgeClaims.id')
            .whereRef('badgeClaims.chipUid', '=', 'badgeAssignments.chipUid')
            .whereRef('badgeClaims.badgeEventId', '=', 'badgeAssignments.badgeEventId')
            .whereRef('badgeClaims.createdAt', '>=', 'badgeAssignments.createdAt'),
        ),
      ),
    ])

/** @returns false if there is no such assignment any more */
export const deleteAssignment = (db: Queries, made: MadeAssignment): Promise<boolean> =>
  once(db.deleteFrom('badgeAssignments').where(asAssigned(made)))

/** Whether it could be deleted. */
export const isAssignmentOpen = (db: Queries, made: MadeAssignment): Promise<boolean> =>
  exists(db.selectFrom('badgeAssignments').select('badgeAssignments.id').where(asAssigned(made)))

export const findAssignment = (
  db: Queries,
  { teamId, uid, badgeEventId }: MadeAssignment,
): Promise<{ batch: string | null } | undefined> =>
  db
    .selectFrom('badgeAssignments')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'badgeAssignments.badgeEventId')
    .select('badgeAssignments.batch')
    .where('badgeAssignments.chipUid', '=', uid)
    .where('badgeAssignments.badgeEventId', '=', badgeEventId)
    .where('badgeEvents.teamId', '=', teamId)
    .executeTakeFirst()
