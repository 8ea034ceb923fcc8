import type { ExpressionBuilder } from 'kysely'
import { engineOf, type Queries } from './database.ts'
import type { Database } from './schema.ts'
import { setSetting, setting } from './settings.ts'
import { countDeletedTaps } from './taps.ts'

/**
 * Deletes the oldest taps with their refs and codes. The newest tap stays, since its ID must not be used again.
 * @param before ISO 8601 @returns the number of deleted taps, and how many of them were refused
 */
export async function deleteOldTaps(
  db: Queries,
  before: string,
  limit: number,
): Promise<{ taps: number; refused: number }> {
  const { newest } = await db
    .selectFrom('taps')
    .select((e) => e.fn.max<number | null>('id').as('newest'))
    .executeTakeFirstOrThrow()
  const oldest = await db
    .selectFrom('taps')
    .select(['id', 'at', 'chipUid', 'outcome'])
    .where('id', '<', newest ?? 0)
    .orderBy('id')
    .limit(limit)
    .execute()
  const firstKept = oldest.findIndex(({ at }) => at >= before)
  const old = firstKept < 0 ? oldest : oldest.slice(0, firstKept)
  const last = old.at(-1)
  if (last === undefined) return { taps: 0, refused: 0 }
  const uids = [...new Set(old.flatMap(({ chipUid }) => chipUid ?? []))]
  await deleteCodes(db, uids, before)
  await db.deleteFrom('taps').where('id', '<=', last.id).execute()
  await countDeletedTaps(db, old.length)
  return { taps: old.length, refused: old.filter(({ outcome }) => outcome !== 'valid').length }
}

/** Refs and codes of taps of one month, so that the month can go as a whole. @param before as in deleteOldTaps @param after the last UID; '' at first */
export async function deleteCodesOfMonth(
  db: Queries,
  { month, before, after, limit }: { month: string; before: string; after: string; limit: number },
): Promise<string | undefined> {
  const chips = await db
    .selectFrom('taps')
    .select('chipUid')
    .distinct()
    .where('at', '>=', month)
    .where('at', '<', endOfMonth(month))
    .where('chipUid', '>', after)
    .orderBy('chipUid')
    .limit(limit)
    .execute()
  const uids = chips.flatMap(({ chipUid }) => chipUid ?? [])
  await deleteCodes(db, uids, before)
  return uids.at(-1)
}

// Sorts after any day of it.
const endOfMonth = (month: string): string => `${month}-~`

async function deleteCodes(db: Queries, uids: readonly string[], before: string): Promise<void> {
  for (const table of ['refs', 'otps'] as const)
    await db
      .deleteFrom(table)
      .where('chipUid', 'in', engineOf(db).listed(uids))
      .where('expiresAt', '<', before)
      .execute()
}

/** @returns what deleteOldTaps does */
export async function dropTapMonth(db: Queries, month: string): Promise<{ taps: number; refused: number }> {
  const dropped = (await engineOf(db).tapMonths?.drop(db, month)) ?? { taps: 0, refused: 0 }
  await countDeletedTaps(db, dropped.taps)
  return dropped
}

const forgottenTo = 'badgeClaimsForgottenTo'

/**
 * Replaces the email addresses of finished claims, oldest first. A claim that never finishes holds up no later one.
 * @param hidden what takes the place of an address @returns the number of addresses that were replaced
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
