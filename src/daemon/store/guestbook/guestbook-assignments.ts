import { engineOf, type Queries } from '../database/database.ts'
import { affected, named, statement } from '../database/statement.ts'

const ofChip = statement<{ chipUid: string; guestbookEventId: number }>()((db, p) =>
  db
    .selectFrom('guestbookAssignments')
    .select('chipUid')
    .where('chipUid', '=', p.chipUid)
    .where('guestbookEventId', '=', p.guestbookEventId),
)
export const hasGuestbook = (
  db: Queries,
  of: { chipUid: string; guestbookEventId: number },
): Promise<boolean> => ofChip.exists(db, of)

/** Chips that have the event, and since when. */
export async function guestbookChips(
  db: Queries,
  guestbookEventId: number,
  uids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('guestbookAssignments')
    .select(['chipUid', 'createdAt'])
    .where('chipUid', 'in', engineOf(db).listed(uids))
    .where('guestbookEventId', '=', guestbookEventId)
    .execute()
  return new Map(rows.map(({ chipUid, createdAt }) => [chipUid, createdAt]))
}

/** @param uids of chips that do not have the event */
export const insertGuestbookChips = (
  db: Queries,
  of: { guestbookEventId: number; createdAt: string },
  uids: readonly string[],
) =>
  affected(
    db
      .insertInto('guestbookAssignments')
      .columns(['guestbookEventId', 'chipUid', 'createdAt'])
      .expression(
        db
          .selectFrom(engineOf(db).listed(uids).$castTo<{ value: string }>().as('given'))
          .select((e) => [
            e.val(of.guestbookEventId).as('guestbookEventId'),
            'given.value',
            e.val(of.createdAt).as('createdAt'),
          ]),
      ),
  )

export const deleteGuestbookChips = (db: Queries, guestbookEventId: number, uids: readonly string[]) =>
  affected(
    db
      .deleteFrom('guestbookAssignments')
      .where('chipUid', 'in', engineOf(db).listed(uids))
      .where('guestbookEventId', '=', guestbookEventId),
  )

type Entry = { chipUid: string; transactionId: number; guestbookEventId: number }

const insertEntry = statement<Entry>()((db, p) =>
  db.insertInto('guestbookEntries').values(named(p, ['chipUid', 'transactionId', 'guestbookEventId'])),
)
/** For the chip's story. */
export const insertGuestbookEntry = (db: Queries, entry: Entry) => insertEntry.run(db, entry)
