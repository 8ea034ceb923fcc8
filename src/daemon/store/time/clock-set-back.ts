import { expressionBuilder } from 'kysely'
import type { Queries } from '../database/database.ts'
import { setSetting } from '../database/settings.ts'
import type { Database } from '../schema/schema.ts'
import { newestTap } from '../taps/taps.ts'

export const farFuture = '9999-12-31T23:59:59.999Z'

const settingKey = 'lastTapBefore'

/**
 * Call it after the clock was set back. Dates from the future would keep refs, codes, and registrations valid for
 * too long, and delay retries.
 */
export async function expireFutureDated(db: Queries, now: string): Promise<void> {
  await expireTaps(db)
  await db.deleteFrom('claimRegistrations').where('createdAt', '>', now).execute()
  await db
    .updateTable('marketplaceRefreshes')
    .set({ dueAt: now })
    .where('dueAt', '>', now)
    .where('doneAt', 'is', null)
    .where('givenUpAt', 'is', null)
    .execute()
  await db.updateTable('badgeClaims').set({ dueAt: now }).where('dueAt', '>', now).execute()
  await db
    .updateTable('webhookDeliveries')
    .set({ dueAt: now })
    .where('dueAt', '>', now)
    .where('settledAt', 'is', null)
    .execute()
  await db.updateTable('poapEvents').set({ pollAt: now }).where('pollAt', '>', now).execute()
}

/** The refs and codes of all taps so far expire. */
export async function expireTaps(db: Queries): Promise<void> {
  await setSetting(db, settingKey, String(await newestTap(db)))
}

/** Refs and codes of taps up to this one have expired. */
export const lastTapBefore = expressionBuilder<Database>().fn.coalesce(
  expressionBuilder<Database>()
    .selectFrom('settings')
    .select((e) => e.cast<number>('settings.value', 'integer').as('last'))
    .where('settings.key', '=', settingKey),
  expressionBuilder<Database>().lit(0),
)
