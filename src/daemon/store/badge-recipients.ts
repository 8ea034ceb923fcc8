import type { Db, Queries } from './database.ts'
import { setting } from './settings.ts'
import { affected, statement } from './statement.ts'

type Place = {
  badgeEventId: number
  /** An address in lower case, or the keyed hash of an email address. */
  recipient: string
}

const take = statement<Place & { most: number }>()((db, p) =>
  db
    .insertInto('badgeRecipients')
    .values({ recipient: p.recipient, badgeEventId: p.badgeEventId, badges: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['recipient', 'badgeEventId'])
        .doUpdateSet((e) => ({ badges: e('badgeRecipients.badges', '+', 1) }))
        .where('badgeRecipients.badges', '<', p.most),
    ),
)

/** Atomic. @returns false if the recipient has `most` badges of the event already */
export const countBadgeOut = (db: Queries, place: Place & { most: number }): Promise<boolean> =>
  take.once(db, place)

export const countBadgeIn = (db: Queries, { badgeEventId, recipient }: Place) =>
  affected(
    db
      .updateTable('badgeRecipients')
      .set((e) => ({ badges: e('badges', '-', 1) }))
      .where('recipient', '=', recipient)
      .where('badgeEventId', '=', badgeEventId)
      .where('badges', '>', 0),
  )

const uncounted = 'badgeEmailsUncounted'

/** Counts the badges of email addresses from before they were counted, once. @param key of an address */
export async function countEarlierEmails(db: Db, key: (email: string) => string): Promise<void> {
  if ((await setting(db.read, uncounted)) !== undefined) await db.write((trx) => countEmails(trx, key))
}

async function countEmails(db: Queries, key: (email: string) => string): Promise<void> {
  // Another daemon that starts now may have done it since the setting was read.
  if ((await affected(db.deleteFrom('settings').where('key', '=', uncounted))) === 0) return
  const claims = await db
    .selectFrom('badgeClaims')
    .select(['badgeEventId', 'recipient'])
    .where('codeNumber', 'is', null)
    .where('recipient', 'like', '%@%')
    .execute()
  for (const { badgeEventId, recipient } of claims)
    await countBadgeOut(db, { badgeEventId, recipient: key(recipient), most: Number.MAX_SAFE_INTEGER })
}
