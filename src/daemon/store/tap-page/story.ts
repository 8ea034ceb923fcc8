import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'

/** A moment of a chip or its token. */
export interface StoryRow {
  id: number
  is: string
  /** ISO 8601 */
  at: string | null
  /** Name of an event, or a team's note. */
  text: string | null
  /** JSON: the subject of a token's move. */
  subject: string | null
}

type Of = {
  uid: string
  /** Of the token's transactions; empty if it has no token. */
  topic: string
  limit: number
}

// In one query, as each is a round trip. Every part reads its newest entries by an index, and no more.
const newest = statement<Of>()((db, p) => {
  const moves = db
    .selectFrom('transactions')
    .select((e) => [
      'id',
      'kind as is',
      'settledAt as at',
      e.cast<string | null>(e.val(null), 'text').as('text'),
    ])
    .select(['subject', 'state'])
    .where('topic', '=', p.topic)
    .orderBy('id', 'desc')
    .limit(p.limit)
  const badges = db
    .selectFrom('badgeClaims')
    .innerJoin('badgeEvents', 'badgeEvents.id', 'badgeClaims.badgeEventId')
    .select((e) => ['badgeClaims.id', e.cast<string>(e.val('badge'), 'text').as('is'), 'claimedAt as at'])
    .select((e) => ['badgeEvents.name as text', e.cast<string | null>(e.val(null), 'text').as('subject')])
    .select(['state', 'badgeClaims.createdAt'])
    .where('chipUid', '=', p.uid)
    .orderBy('badgeClaims.id', 'desc')
    .limit(p.limit)
  const guestbooks = db
    .selectFrom('guestbookEntries')
    .innerJoin('transactions', 'transactions.id', 'guestbookEntries.transactionId')
    .innerJoin('guestbookEvents', 'guestbookEvents.id', 'guestbookEntries.guestbookEventId')
    .select((e) => [
      'transactions.id',
      e.cast<string>(e.val('guestbook'), 'text').as('is'),
      'settledAt as at',
    ])
    .select((e) => ['guestbookEvents.name as text', e.cast<string | null>(e.val(null), 'text').as('subject')])
    .select('state')
    .where('chipUid', '=', p.uid)
    .orderBy('guestbookEntries.transactionId', 'desc')
    .limit(p.limit)
  const notes = db
    .selectFrom('chipNotes')
    .select((e) => ['id', e.cast<string>(e.val('note'), 'text').as('is'), 'at', 'text'])
    .select((e) => e.cast<string | null>(e.val(null), 'text').as('subject'))
    .where('chipUid', '=', p.uid)
    .orderBy('id', 'desc')
    .limit(p.limit)
  const columns = ['id', 'is', 'at', 'text', 'subject'] as const
  return db
    .selectFrom(moves.as('moves'))
    .select(columns)
    .where('state', '=', 'confirmed')
    .$castTo<StoryRow>()
    .unionAll(
      db
        .selectFrom(badges.as('badges'))
        .select(columns)
        .where('state', '=', 'claimed')
        // An earlier chip may have had its UID.
        .where((e) =>
          e('createdAt', '>=', e.selectFrom('chips').select('chips.createdAt').where('uid', '=', p.uid)),
        )
        .$castTo<StoryRow>(),
    )
    .unionAll(
      db
        .selectFrom(guestbooks.as('guestbooks'))
        .select(columns)
        .where('state', '=', 'confirmed')
        .$castTo<StoryRow>(),
    )
    .unionAll(db.selectFrom(notes.as('notes')).select(columns).$castTo<StoryRow>())
})

/** The newest of each kind, in no order. */
export const storyOf = (db: Queries, of: Of): Promise<StoryRow[]> => newest.all(db, of)
