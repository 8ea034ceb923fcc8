import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { BadgeEventRow, BadgeEventsTable } from './schema.ts'
import { statement } from './statement.ts'

/** A badge event with the window in which an assignment shows it. */
export interface AssignedBadgeEvent extends BadgeEventRow {
  startsAt: string | null
  endsAt: string | null
}

const assigned = (db: Queries) =>
  db
    .selectFrom('badgeAssignments')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'badgeAssignments.badgeEventId')
    .selectAll('badgeEvents')
    .select(['badgeAssignments.startsAt', 'badgeAssignments.endsAt'])
    .orderBy('badgeAssignments.id')

const ofChip = statement<{ chipUid: string }>()((db, p) =>
  assigned(db).where('badgeAssignments.chipUid', '=', p.chipUid),
)
const ofToken = statement<{ tokenRow: number }>()((db, p) =>
  assigned(db).where('badgeAssignments.tokenRow', '=', p.tokenRow),
)

/** The badge events assigned to a chip or to its token, in the order of assignment, the chip's own first. */
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

/** Ids of the embedded provider begin here, well apart from the service's own. */
const firstUpstreamId = 100_000

export async function nextUpstreamId(db: Queries): Promise<number> {
  const { highest } = await db
    .selectFrom('badgeEvents')
    .select((eb) => eb.fn.max('upstreamId').as('highest'))
    .executeTakeFirstOrThrow()
  return Math.max(firstUpstreamId, Number(highest ?? 0) + 1)
}

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

/** @returns its id */
export async function insertBadgeEvent(db: Queries, event: Insertable<BadgeEventsTable>): Promise<number> {
  return (await db.insertInto('badgeEvents').values(event).returning('id').executeTakeFirstOrThrow()).id
}

/** Assigns an event to a chip, within the event's own dates; once is enough. */
export async function assignBadgeEventToChip(
  db: Queries,
  assignment: { badgeEventId: number; chipUid: string; createdAt: string },
): Promise<void> {
  await db
    .insertInto('badgeAssignments')
    .values({ ...assignment, title: '', description: '' })
    .onConflict((conflict) => conflict.columns(['chipUid', 'badgeEventId']).doNothing())
    .execute()
}
