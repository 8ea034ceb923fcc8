import { engineOf, type Queries } from '../database/database.ts'
import { affected } from '../database/statement.ts'
import type { BadgeAssignmentRow } from '../schema/schema.ts'

/** Assigning again what a batch assigned makes it permanent: undoing that batch must not remove it. */
export const detachFromBatch = (
  db: Queries,
  { uids, badgeEventId, batch }: { uids: readonly string[]; badgeEventId: number; batch: string | null },
) =>
  affected(
    db
      .updateTable('badgeAssignments')
      .set({ batch: null })
      .where('chipUid', 'in', engineOf(db).listed(uids))
      .where('badgeEventId', '=', badgeEventId)
      .where('batch', 'is not', null)
      .where('batch', 'is distinct from', batch),
  )

/** How an event is assigned to a chip. */
export type Assignment = Pick<
  BadgeAssignmentRow,
  'startsAt' | 'endsAt' | 'title' | 'description' | 'createdAt' | 'batch'
>

export async function assignmentsOf(
  db: Queries,
  badgeEventId: number,
  uids: readonly string[],
): Promise<Map<string, Assignment>> {
  const rows = await db
    .selectFrom('badgeAssignments')
    .select(['chipUid', 'startsAt', 'endsAt', 'title', 'description', 'createdAt', 'batch'])
    .where('chipUid', 'in', engineOf(db).listed(uids))
    .where('badgeEventId', '=', badgeEventId)
    .execute()
  return new Map(rows.flatMap(({ chipUid, ...of }) => (chipUid === null ? [] : [[chipUid, of]])))
}

/** Assignments of chips with which a badge has been minted since. */
export async function mintedSince(
  db: Queries,
  badgeEventId: number,
  uids: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('badgeAssignments')
    .innerJoin('badgeClaims', (join) =>
      join
        .onRef('badgeClaims.chipUid', '=', 'badgeAssignments.chipUid')
        .onRef('badgeClaims.badgeEventId', '=', 'badgeAssignments.badgeEventId')
        .onRef('badgeClaims.createdAt', '>=', 'badgeAssignments.createdAt'),
    )
    .select('badgeAssignments.chipUid')
    .where('badgeAssignments.chipUid', 'in', engineOf(db).listed(uids))
    .where('badgeAssignments.badgeEventId', '=', badgeEventId)
    .execute()
  return new Set(rows.flatMap(({ chipUid }) => chipUid ?? []))
}

/** Sets the assignments, replacing existing ones. */
export const putAssignments = (
  db: Queries,
  badgeEventId: number,
  { startsAt, endsAt, title, description, createdAt, batch }: Assignment,
  uids: readonly string[],
) =>
  affected(
    db
      .insertInto('badgeAssignments')
      .columns([
        'badgeEventId',
        'chipUid',
        'startsAt',
        'endsAt',
        'title',
        'description',
        'createdAt',
        'batch',
      ])
      .expression(
        db
          .selectFrom(engineOf(db).listed(uids).$castTo<{ value: string }>().as('given'))
          .select((e) => [
            e.val(badgeEventId).as('badgeEventId'),
            'given.value',
            e.val(startsAt).as('startsAt'),
            e.val(endsAt).as('endsAt'),
            e.val(title).as('title'),
            e.val(description).as('description'),
            e.val(createdAt).as('createdAt'),
            e.val(batch).as('batch'),
          ])
          // Without WHERE, SQLite parses ON CONFLICT as a join condition.
          .where((e) => e.lit(true)),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['chipUid', 'badgeEventId'])
          .doUpdateSet({ startsAt, endsAt, title, description, createdAt, batch }),
      ),
  )

export const deleteAssignments = (db: Queries, badgeEventId: number, uids: readonly string[]) =>
  affected(
    db
      .deleteFrom('badgeAssignments')
      .where('chipUid', 'in', engineOf(db).listed(uids))
      .where('badgeEventId', '=', badgeEventId),
  )
