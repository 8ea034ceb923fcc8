import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, exists } from '../database/statement.ts'
import type { PoapCreationsTable } from '../schema/events.ts'
import type { BadgeEventRow } from '../schema/schema.ts'

export interface PoapEvent extends BadgeEventRow {
  secretCode: Buffer
  polls: number
  pollUntil: string | null
}

export const secretCodeContext = (badgeEventId: number): string => `poapEvents:${badgeEventId}:secretCode`

export const insertPoapEvent = (
  db: Queries,
  event: { badgeEventId: number; secretCode: Buffer; pollAt: string; imageUrl: string },
) => affected(db.insertInto('poapEvents').values({ ...event, polls: 0, pollUntil: null }))

export const isPoapEvent = (db: Queries, badgeEventId: number) =>
  exists(db.selectFrom('poapEvents').select('badgeEventId').where('badgeEventId', '=', badgeEventId))

export async function findPoapEvent(
  db: Queries,
  badgeEventId: number,
): Promise<{ upstreamId: number; secretCode: Buffer } | undefined> {
  return db
    .selectFrom('poapEvents')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'poapEvents.badgeEventId')
    .select(['badgeEvents.upstreamId', 'poapEvents.secretCode'])
    .where('badgeEventId', '=', badgeEventId)
    .executeTakeFirst()
}

/** Oldest due time first. */
export const duePoapEvents = (db: Queries, now: string, limit: number): Promise<PoapEvent[]> =>
  db
    .selectFrom('poapEvents')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'poapEvents.badgeEventId')
    .selectAll('badgeEvents')
    .select(['poapEvents.secretCode', 'poapEvents.polls', 'poapEvents.pollUntil'])
    .where('poapEvents.pollAt', '<=', now)
    .orderBy('poapEvents.pollAt')
    .limit(limit)
    .execute()

export const setPoll = (
  db: Queries,
  badgeEventId: number,
  change: { pollAt: string | null; polls?: number; pollUntil?: string | null },
) => affected(db.updateTable('poapEvents').set(change).where('badgeEventId', '=', badgeEventId))

/** ISO 8601; undefined if nothing is due. */
export async function nextDue(db: Queries): Promise<string | undefined> {
  const [events, claims] = await Promise.all([
    db
      .selectFrom('poapEvents')
      .select((eb) => eb.fn.min('pollAt').as('at'))
      .executeTakeFirst(),
    db
      .selectFrom('badgeClaims')
      .select((eb) => eb.fn.min('dueAt').as('at'))
      .executeTakeFirst(),
  ])
  return [events?.at, claims?.at].filter((at) => at != null).sort()[0]
}

export const creationContext = (id: number): string => `poapCreations:${id}:secretCode`

/** @param seal needs the ID of the row, which exists only after the INSERT */
export async function insertCreation(
  db: Queries,
  { seal, ...creation }: Omit<Insertable<PoapCreationsTable>, 'secretCode'> & { seal(id: number): Buffer },
): Promise<number> {
  const values = { ...creation, secretCode: Buffer.alloc(0) }
  const { id } = await db.insertInto('poapCreations').values(values).returning('id').executeTakeFirstOrThrow()
  await db
    .updateTable('poapCreations')
    .set({ secretCode: seal(id) })
    .where('id', '=', id)
    .execute()
  return id
}

export const findCreationOfKey = (db: Queries, { scope, key }: { scope: string; key: string }) =>
  db
    .selectFrom('poapCreations')
    .selectAll()
    .where('keyScope', '=', scope)
    .where('key', '=', key)
    .executeTakeFirst()

export const allCreations = (db: Queries) =>
  db.selectFrom('poapCreations').selectAll().orderBy('id').execute()

export const deleteCreation = (db: Queries, id: number) =>
  affected(db.deleteFrom('poapCreations').where('id', '=', id))

type Key = { scope: string; key: string }

/** A repeated request with the same Idempotency-Key then finds the event. */
export const linkCreationKey = (db: Queries, { scope, key }: Key, badgeEventId: number) =>
  affected(
    db
      .updateTable('idempotencyKeys')
      .set({ transactionId: badgeEventId })
      .where('scope', '=', scope)
      .where('key', '=', key),
  )

/** After a failed creation, the request may be repeated with its Idempotency-Key. */
export const forgetCreationKey = (db: Queries, { scope, key }: Key) =>
  affected(
    db
      .deleteFrom('idempotencyKeys')
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('transactionId', 'is', null),
  )
