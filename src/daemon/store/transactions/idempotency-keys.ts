import type { Queries } from '../database.ts'
import type { IdempotencyKeyRow } from '../schema.ts'
import { named, statement } from '../statement.ts'

type Id = { scope: string; key: string }

const find = statement<Id & { now: string }>()((db, p) =>
  db
    .selectFrom('idempotencyKeys')
    .selectAll()
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('expiresAt', '>', p.now),
)
export const findIdempotencyKey = (
  db: Queries,
  id: Id & { now: string },
): Promise<IdempotencyKeyRow | undefined> => find.first(db, id)

type NewKey = Omit<IdempotencyKeyRow, 'answer'>

const expire = statement<NewKey>()((db, p) =>
  db
    .deleteFrom('idempotencyKeys')
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('expiresAt', '<=', p.createdAt),
)
const insert = statement<NewKey>()((db, p) =>
  db
    .insertInto('idempotencyKeys')
    .values({
      ...named(p, ['scope', 'key', 'requestHash', 'transactionId', 'createdAt', 'expiresAt']),
      answer: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** @returns false where the key is taken, and stays what it was. */
export async function insertIdempotencyKey(db: Queries, row: NewKey): Promise<boolean> {
  await expire.run(db, row)
  return (await insert.run(db, row)) === 1
}

const keep = statement<Id & { answer: string }>()((db, p) =>
  db
    .updateTable('idempotencyKeys')
    .set({ answer: p.answer })
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('answer', 'is', null),
)
/** Keeps the answer of a key whose intent is recorded; without such a row it does nothing. */
export const keepAnswer = (db: Queries, of: Id & { answer: string }) => keep.run(db, of)

const prune = statement<{ now: string }>()((db, p) =>
  db.deleteFrom('idempotencyKeys').where('expiresAt', '<=', p.now),
)
/** Deletes what has expired; for housekeeping. */
export const pruneIdempotencyKeys = (db: Queries, now: string) => prune.run(db, { now })
