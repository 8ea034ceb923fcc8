import type { ExpressionBuilder } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import { setSetting, setting } from '../database/settings.ts'
import type { Database } from '../schema/schema.ts'
import { countDeletedTaps, newestTap } from '../taps/taps.ts'

/**
 * Deletes the oldest taps. The newest tap stays, because its ID must not be reused.
 * @param before ISO 8601 @returns the number of deleted taps, and how many of them were refused
 */
export async function deleteOldTaps(
  db: Queries,
  before: string,
  limit: number,
): Promise<{ taps: number; refused: number }> {
  const oldest = await db
    .selectFrom('taps')
    .select(['id', 'at', 'outcome'])
    .where('id', '<', await newestTap(db))
    .orderBy('id')
    .limit(limit)
    .execute()
  const firstKept = oldest.findIndex(({ at }) => at >= before)
  const old = firstKept < 0 ? oldest : oldest.slice(0, firstKept)
  const last = old.at(-1)
  if (last === undefined) return { taps: 0, refused: 0 }
  await db.deleteFrom('taps').where('id', '<=', last.id).execute()
  await countDeletedTaps(db, old.length)
  return { taps: old.length, refused: old.filter(({ outcome }) => outcome !== 'valid').length }
}

/** @returns the same as deleteOldTaps */
export async function dropTapMonth(db: Queries, month: string): Promise<{ taps: number; refused: number }> {
  const dropped = (await engineOf(db).tapMonths?.drop(db, month)) ?? { taps: 0, refused: 0 }
  await countDeletedTaps(db, dropped.taps)
  return dropped
}

const forgottenTo = 'badgeClaimsForgottenTo'

/**
 * Replaces the email addresses of finished claims, oldest first. A claim that never finishes does not block later
 * ones.
 * @param hidden computes the replacement for an address @returns the number of addresses that were replaced
 */
export async function hideEmails(
  db: Queries,
  { before, hidden, limit }: { before: string; hidden: (email: string) => string; limit: number },
): Promise<number> {
  const after = Number((await setting(db, forgottenTo)) ?? 0)
  const claims = await db
    .selectFrom('badgeClaims')
    .select(['id', 'recipient'])
    .where('id', '>', after)
    .where('createdAt', '<', before)
    .where('recipient', 'like', '%@%')
    .where((e) => e.not(isUnfinished(e)))
    .orderBy('id')
    .limit(limit)
    .execute()
  for (const { id, recipient } of claims)
    await db
      .updateTable('badgeClaims')
      .set({ recipient: hidden(recipient) })
      .where('id', '=', id)
      .execute()
  if (claims.length === limit) return limit
  const { next, newest } = await db
    .selectFrom('badgeClaims')
    .select((e) => [
      e.fn
        .min<number | null>('id')
        .filterWhere((f) => f.or([f('createdAt', '>=', before), isUnfinished(f)]))
        .as('next'),
      e.fn.max<number | null>('id').as('newest'),
    ])
    .where('id', '>', after)
    .executeTakeFirstOrThrow()
  const done = next === null ? newest : next - 1
  if (done !== null && done > after) await setSetting(db, forgottenTo, String(done))
  return claims.length
}

const isUnfinished = (e: ExpressionBuilder<Database, 'badgeClaims'>) =>
  e.or([
    e('state', '=', 'open'),
    e.and([e('transactionState', 'is not', null), e('transactionState', '=', 'pending')]),
  ])
