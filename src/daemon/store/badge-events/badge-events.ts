import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'
import type { BadgeEventRow, BadgeEventsTable, BadgeImagesTable } from '../schema/schema.ts'
import { detachFromBatch } from './badge-assignments.ts'

export interface AssignedBadgeEvent extends BadgeEventRow {
  assignmentId: number
  /** null: open. */
  startsAt: string | null
  endsAt: string | null
  /** Overrides the text on the tap page; empty: the text of the event. */
  shownTitle: string
  shownDescription: string
}

/** In the order of their assignment. */
const assignedBadgeEvents = (db: Queries) =>
  db
    .selectFrom('badgeAssignments')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'badgeAssignments.badgeEventId')
    .selectAll('badgeEvents')
    .select([
      'badgeAssignments.id as assignmentId',
      'badgeAssignments.startsAt',
      'badgeAssignments.endsAt',
      'badgeAssignments.title as shownTitle',
      'badgeAssignments.description as shownDescription',
    ])
    .orderBy('badgeAssignments.id')

const ofChip = statement<{ chipUid: string }>()((db, p) =>
  assignedBadgeEvents(db).where('badgeAssignments.chipUid', '=', p.chipUid),
)
const ofToken = statement<{ tokenRow: number }>()((db, p) =>
  assignedBadgeEvents(db).where('badgeAssignments.tokenRow', '=', p.tokenRow),
)

/** The chip's own assignment of an event precedes that of its token. */
export async function badgeEventsOf(
  db: Queries,
  chip: { uid: string; tokenRow: number | null },
): Promise<AssignedBadgeEvent[]> {
  const own = await ofChip.all(db, { chipUid: chip.uid })
  if (chip.tokenRow === null) return own
  const shared = await ofToken.all(db, { tokenRow: chip.tokenRow })
  return [...own, ...shared.filter((event) => !own.some((other) => other.id === event.id))]
}

const byId = statement<{ id: number }>()((db, p) =>
  db.selectFrom('badgeEvents').selectAll().where('id', '=', p.id),
)

export const findBadgeEvent = (db: Queries, id: number): Promise<BadgeEventRow | undefined> =>
  byId.first(db, { id })

/** The embedded provider starts its IDs here, so that they are not mistaken for event IDs. */
const firstUpstreamId = 100_000

export async function nextUpstreamId(db: Queries): Promise<number> {
  const { highest } = await db
    .selectFrom('badgeEvents')
    .leftJoin('poapEvents', 'poapEvents.badgeEventId', 'badgeEvents.id')
    .where('poapEvents.badgeEventId', 'is', null)
    .select((eb) => eb.fn.max('upstreamId').as('highest'))
    .executeTakeFirstOrThrow()
  return Math.max(firstUpstreamId, Number(highest ?? 0) + 1)
}

export interface ListedBadgeEvent extends BadgeEventRow {
  /** null for the embedded provider. */
  poapEventId: number | null
  team: string
}

/** Newest first. */
export function listBadgeEvents(
  db: Queries,
  { teamId, before, limit }: { teamId?: number | undefined; before?: number | undefined; limit: number },
): Promise<ListedBadgeEvent[]> {
  let query = db
    .selectFrom('badgeEvents')
    .innerJoin('teams', 'teams.id', 'badgeEvents.teamId')
    .leftJoin('poapEvents', 'poapEvents.badgeEventId', 'badgeEvents.id')
    .selectAll('badgeEvents')
    .select(['poapEvents.badgeEventId as poapEventId', 'teams.name as team'])
    .orderBy('badgeEvents.id', 'desc')
    .limit(limit)
  if (teamId !== undefined) query = query.where('badgeEvents.teamId', '=', teamId)
  if (before !== undefined) query = query.where('badgeEvents.id', '<', before)
  return query.execute()
}

/** @returns false if it was already set */
export const setApproval = (
  db: Queries,
  id: number,
  change: Pick<BadgeEventRow, 'approval'> & Partial<Pick<BadgeEventRow, 'remainingCodes'>>,
) =>
  once(
    db.updateTable('badgeEvents').set(change).where('id', '=', id).where('approval', '!=', change.approval),
  )

const take = statement<{ id: number }>()((db, p) =>
  db
    .updateTable('badgeEvents')
    .set((eb) => ({ remainingCodes: eb('remainingCodes', '-', 1) }))
    .where('id', '=', p.id)
    .where('remainingCodes', '>', 0),
)
export const countCodeOut = async (db: Queries, id: number): Promise<boolean> =>
  (await take.run(db, { id })) === 1

const returnCodes = statement<{ id: number; count: number }>()((db, p) =>
  db
    .updateTable('badgeEvents')
    .set((eb) => ({ remainingCodes: eb('remainingCodes', '+', p.count) }))
    .where('id', '=', p.id),
)
export const countCodesIn = (db: Queries, id: number, count: number) => returnCodes.run(db, { id, count })
export const countCodeIn = (db: Queries, id: number) => countCodesIn(db, id, 1)

export async function findBadgeEventNamed(
  db: Queries,
  teamId: number,
  name: string,
): Promise<number | undefined> {
  const query = db
    .selectFrom('badgeEvents')
    .select('id')
    .where('teamId', '=', teamId)
    .where('name', '=', name)
  return (await query.executeTakeFirst())?.id
}

export async function insertBadgeEvent(db: Queries, event: Insertable<BadgeEventsTable>): Promise<number> {
  return (await db.insertInto('badgeEvents').values(event).returning('id').executeTakeFirstOrThrow()).id
}

/** @returns false if it was already assigned */
export async function assignBadgeEventToChip(
  db: Queries,
  assignment: Pick<NewAssignment, 'badgeEventId' | 'startsAt' | 'endsAt' | 'createdAt'> & { chipUid: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('badgeAssignments')
    .values({ ...assignment, title: '', description: '' })
    .onConflict((conflict) => conflict.columns(['chipUid', 'badgeEventId']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export interface NewAssignment {
  badgeEventId: number
  /** A token applies to all its chips. */
  to: { chipUid: string } | { tokenRow: number }
  startsAt: string | null
  endsAt: string | null
  title: string
  description: string
  createdAt: string
  batch: string | null
}

/**
 * Overwrites the dates and texts of an existing assignment, which then no longer belongs to a batch.
 * @returns `unchanged`: it has them already
 */
export async function putBadgeAssignment(
  db: Queries,
  { to, createdAt, badgeEventId, batch, ...content }: NewAssignment,
): Promise<'unchanged' | 'replaced' | 'assigned'> {
  const target = 'chipUid' in to ? { ...to, tokenRow: null } : { ...to, chipUid: null }
  const put = await db
    .insertInto('badgeAssignments')
    .values({ ...target, ...content, badgeEventId, createdAt, batch })
    .onConflict((conflict) =>
      conflict
        .columns(['chipUid' in to ? 'chipUid' : 'tokenRow', 'badgeEventId'])
        .doUpdateSet({ ...content, batch: null })
        .where((e) =>
          e.or(
            (['startsAt', 'endsAt', 'title', 'description'] as const).map((name) =>
              e(`badgeAssignments.${name}`, 'is distinct from', content[name]),
            ),
          ),
        ),
    )
    .returning('batch')
    .executeTakeFirst()
  if (put === undefined && 'chipUid' in to)
    await detachFromBatch(db, { uids: [to.chipUid], badgeEventId, batch })
  if (put === undefined) return 'unchanged'
  return batch !== null && put.batch === null ? 'replaced' : 'assigned'
}

export const insertImage = (db: Queries, image: BadgeImagesTable) =>
  affected(db.insertInto('badgeImages').values(image))

/** Omits the image itself, which may be megabytes. */
export const findImageFile = async (db: Queries, badgeEventId: number): Promise<string | undefined> =>
  (
    await db
      .selectFrom('badgeImages')
      .select('file')
      .where('badgeEventId', '=', badgeEventId)
      .executeTakeFirst()
  )?.file

export const findImage = (db: Queries, badgeEventId: number): Promise<BadgeImagesTable | undefined> =>
  db.selectFrom('badgeImages').selectAll().where('badgeEventId', '=', badgeEventId).executeTakeFirst()
