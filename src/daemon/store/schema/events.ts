import type { Generated } from 'kysely'

export interface GuestbookEventsTable {
  id: Generated<number>
  teamId: number
  contractId: number
  name: string
  tokenId: string
  /** JSON */
  metadata: string
  transactionId: number | null
  createdAt: string
}

export interface GuestbookAssignmentsTable {
  guestbookEventId: number
  chipUid: string
  createdAt: string
}

export interface BadgeEventsTable {
  id: Generated<number>
  teamId: number
  name: string
  description: string
  city: string
  country: string
  /** All dates are YYYY-MM-DD, UTC. */
  startDate: string
  endDate: string
  expiryDate: string
  eventUrl: string
  privateEvent: number
  virtualEvent: number
  requestedCodes: number
  remainingCodes: number
  /** Badges of the event that one recipient may have. POAP allows one. */
  maxPerRecipient: Generated<number>
  /** ID at the badge provider, `poapEventId` in the API. */
  upstreamId: number
  approval: 'pending' | 'approved' | 'rejected'
  provider: Generated<'embedded' | 'poap'>
  createdAt: string
}

export interface BadgeAssignmentsTable {
  id: Generated<number>
  badgeEventId: number
  /** Exactly one of chipUid and tokenRow is set. A token applies to all its chips. */
  chipUid: string | null
  tokenRow: number | null
  /** null: open. */
  startsAt: string | null
  endsAt: string | null
  title: string
  description: string
  createdAt: string
  /** The batch that assigned the event to the chip; null as soon as anybody else assigns it as well. */
  batch: Generated<string | null>
}
