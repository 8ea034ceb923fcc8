import { nanoid } from 'nanoid'
import type { Queries } from '../database/database.ts'
import { setSetting, setting } from '../database/settings.ts'
import { affected } from '../database/statement.ts'
import { releaseAllLeases } from '../lease/lease.ts'
import { expireTaps } from '../time/clock-set-back.ts'

/**
 * Ends everything in a restored database that may have been used since the backup, and marks what must be checked
 * before it is used again.
 * @returns the number of chips whose next tap only raises the counter
 */
export async function endWhatWasOpen(db: Queries, now: string): Promise<{ chips: number }> {
  await expireTaps(db)
  // Taps since the backup were lost, and their IDs are reused.
  await beginSealEra(db)
  await db.deleteFrom('claimRegistrations').execute()
  // The provider is asked before the code is sent.
  await db.updateTable('badgeClaims').set({ isSent: 1, dueAt: now }).where('state', '=', 'open').execute()
  // Most of them have been delivered since, and receivers may have forgotten their IDs.
  await db
    .updateTable('webhookDeliveries')
    .set({
      settledAt: now,
      outcome: 'dropped',
      error: 'a backup was restored, and this may have been delivered after it was made',
    })
    .where('settledAt', 'is', null)
    .execute()
  await db.updateTable('transactions').set({ isRestored: 1 }).where('settledAt', 'is', null).execute()
  await db
    .updateTable('batches')
    .set({
      state: 'paused',
      error:
        'A backup was restored. Rows may have been done after it was made: check before you resume the batch.',
    })
    .where('state', 'in', ['running', 'scheduled'])
    .execute()
  await releaseAllLeases(db)
  await db.updateTable('removedChips').set({ catchesUp: 1 }).execute()
  return { chips: await affected(db.updateTable('chips').set({ catchesUp: 1 })) }
}

const settingKey = 'sealEras'
/** Seals from before are distinguished from invalid ones, so that their codes read as expired. */
const kept = 4

/** Names of the times between restores of a backup, the current one first: seals of each have keys of their own. */
export async function sealEras(db: Queries): Promise<string[]> {
  return ((await setting(db, settingKey)) ?? '').split(' ')
}

/** Call it if taps may have been lost: their IDs are reused. */
export async function beginSealEra(db: Queries): Promise<void> {
  const eras = [nanoid(), ...(await sealEras(db))].slice(0, kept)
  await setSetting(db, settingKey, eras.join(' '))
}
