import type { Queries } from './database.ts'
import type { GuestbookEventRow } from './schema.ts'
import { statement } from './statement.ts'

/** A guestbook event with its contract's place. */
export interface LocatedGuestbookEvent extends GuestbookEventRow {
  /** Where the contract is or will be: shown only once it is confirmed. */
  address: string
  chainId: number
  contractStatus: 'pending' | 'confirmed'
}

const located = (db: Queries) =>
  db
    .selectFrom('guestbookEvents')
    .innerJoin('contracts', 'contracts.id', 'guestbookEvents.contractId')
    .selectAll('guestbookEvents')
    .select(['contracts.address', 'contracts.chainId', 'contracts.status as contractStatus'])

const ofChip = statement<{ chipUid: string }>()((db, p) =>
  located(db)
    .innerJoin('guestbookAssignments', 'guestbookAssignments.guestbookEventId', 'guestbookEvents.id')
    .where('guestbookAssignments.chipUid', '=', p.chipUid)
    .orderBy('guestbookEvents.id'),
)
const byId = statement<{ id: number }>()((db, p) => located(db).where('guestbookEvents.id', '=', p.id))

export const guestbookEventsOf = (db: Queries, chipUid: string): Promise<LocatedGuestbookEvent[]> =>
  ofChip.all(db, { chipUid })

export const findGuestbookEvent = (db: Queries, id: number): Promise<LocatedGuestbookEvent | undefined> =>
  byId.first(db, { id })
