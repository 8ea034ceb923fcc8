import type { Generated } from 'kysely'

export interface GuestbookEventsTable {
  id: Generated<number>
  teamId: number
  contractId: number
  name: string
  tokenId: string
  /** JSON */
  metadata: string
  /** The transaction that creates it on its contract. */
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
  /** YYYY-MM-DD, like endDate and expiryDate: whole days UTC. */
  startDate: string
  endDate: string
  expiryDate: string
  eventUrl: string
  privateEvent: number
  virtualEvent: number
  requestedCodes: number
  remainingCodes: number
  /** The event's id at the badge provider, `poapEventId` on the wire. */
  upstreamId: number
  approval: 'pending' | 'approved' | 'rejected'
  provider: Generated<'embedded' | 'poap'>
  createdAt: string
}

export interface BadgeAssignmentsTable {
  id: Generated<number>
  badgeEventId: number
  /** One of the two is set: a chip, or every chip of a token. */
  chipUid: string | null
  tokenRow: number | null
  /** Absent: the event's own dates. */
  startsAt: string | null
  endsAt: string | null
  title: string
  description: string
  createdAt: string
}
