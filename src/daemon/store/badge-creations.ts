import type { Insertable, Selectable } from 'kysely'
import type { Queries } from './database.ts'
import type { PoapCreationsTable } from './schema/badges.ts'

export type PoapCreationRow = Selectable<PoapCreationsTable>

/** Where its secret code is sealed to: it opens in no other row. */
export const creationPlace = (id: number): string => `poapCreations:${id}:secretCode`

/** @param seal what is sealed belongs to the row, whose id is known only now */
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

export const findCreationOfKey = (
  db: Queries,
  { scope, key }: { scope: string; key: string },
): Promise<PoapCreationRow | undefined> =>
  db
    .selectFrom('poapCreations')
    .selectAll()
    .where('keyScope', '=', scope)
    .where('key', '=', key)
    .executeTakeFirst()

export const allCreations = (db: Queries): Promise<PoapCreationRow[]> =>
  db.selectFrom('poapCreations').selectAll().orderBy('id').execute()

export async function leaveCreationUnknown(db: Queries, id: number): Promise<void> {
  await db.updateTable('poapCreations').set({ state: 'unknown' }).where('id', '=', id).execute()
}

export async function deleteCreation(db: Queries, id: number): Promise<void> {
  await db.deleteFrom('poapCreations').where('id', '=', id).execute()
}

type Key = { scope: string; key: string }

/** The Idempotency-Key that a creation was begun with stands for the event from now on. */
export async function tieCreationKey(db: Queries, { scope, key }: Key, badgeEventId: number): Promise<void> {
  await db
    .updateTable('idempotencyKeys')
    .set({ transactionId: badgeEventId })
    .where('scope', '=', scope)
    .where('key', '=', key)
    .execute()
}

/** Nothing came of it: under its key it may be tried again. */
export async function forgetCreationKey(db: Queries, { scope, key }: Key): Promise<void> {
  await db
    .deleteFrom('idempotencyKeys')
    .where('scope', '=', scope)
    .where('key', '=', key)
    .where('transactionId', 'is', null)
    .execute()
}
