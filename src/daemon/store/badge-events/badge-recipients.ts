import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'

type Place = {
  badgeEventId: number
  /** An address in lower case, or the keyed hash of an email address. */
  recipient: string
}

const take = statement<Place & { max: number }>()((db, p) =>
  db
    .insertInto('badgeRecipients')
    .values({ recipient: p.recipient, badgeEventId: p.badgeEventId, badges: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['recipient', 'badgeEventId'])
        .doUpdateSet((e) => ({ badges: e('badgeRecipients.badges', '+', 1) }))
        .where('badgeRecipients.badges', '<', p.max),
    ),
)

/** Atomic. @returns false if the recipient already has `max` badges of the event */
export const countBadgeOut = (db: Queries, place: Place & { max: number }): Promise<boolean> =>
  take.runOnce(db, place)

export const countBadgeIn = (db: Queries, { badgeEventId, recipient }: Place) =>
  affected(
    db
      .updateTable('badgeRecipients')
      .set((e) => ({ badges: e('badges', '-', 1) }))
      .where('recipient', '=', recipient)
      .where('badgeEventId', '=', badgeEventId)
      .where('badges', '>', 0),
  )
