import type { Queries } from '../database/database.ts'
import { affected, named, statement } from '../database/statement.ts'
import type { IdempotencyKeyRow } from '../schema/schema.ts'

type Id = { scope: string; key: string }

export const findIdempotencyKey = statement<Id & { now: string }>()((db, p) =>
  db
    .selectFrom('idempotencyKeys')
    .selectAll()
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('expiresAt', '>', p.now),
).first

const expire = statement<IdempotencyKeyRow>()((db, p) =>
  db
    .deleteFrom('idempotencyKeys')
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('expiresAt', '<=', p.createdAt),
)
const insert = statement<IdempotencyKeyRow>()((db, p) =>
  db
    .insertInto('idempotencyKeys')
    .values(named(p, ['scope', 'key', 'requestHash', 'transactionId', 'answer', 'createdAt', 'expiresAt']))
    .onConflict((conflict) => conflict.doNothing()),
)

/** @returns false, without changes, if the key is in use */
export async function insertIdempotencyKey(db: Queries, row: IdempotencyKeyRow): Promise<boolean> {
  await expire.run(db, row)
  return (await insert.run(db, row)) === 1
}

export const keepAnswer = statement<Id & { answer: string }>()((db, p) =>
  db
    .updateTable('idempotencyKeys')
    .set({ answer: p.answer })
    .where('scope', '=', p.scope)
    .where('key', '=', p.key)
    .where('answer', 'is', null),
).run

/** @returns the number of deleted keys */
export const pruneIdempotencyKeys = (db: Queries, now: string, limit: number) =>
  affected(
    db
      .deleteFrom('idempotencyKeys')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('scope', 'key'),
          'in',
          selectFrom('idempotencyKeys')
            .select(['scope', 'key'])
            .where('expiresAt', '<=', now)
            .limit(limit)
            .$asTuple('scope', 'key'),
        ),
      ),
  )
