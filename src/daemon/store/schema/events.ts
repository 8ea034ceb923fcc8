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

/** Mints that a tap of the chip allowed. */
export interface GuestbookEntriesTable {
  chipUid: string
  transactionId: number
  guestbookEventId: number
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

/** Events without a row here belong to the embedded provider. */
export interface PoapEventsTable {
  badgeEventId: number
  /** Six digits, sealed. */
  secretCode: Buffer
  /** Next time to ask POAP for approval; null: never. */
  pollAt: string | null
  polls: number
  /** Deadline for requesting missing codes from POAP. */
  pollUntil: string | null
  /** Empty for events from before it was kept. */
  imageUrl: Generated<string>
}

/** An event being created at POAP. Deleted once the result is known, which it never is if POAP did not answer. */
export interface PoapCreationsTable {
  id: Generated<number>
  teamId: number
  name: string
  /** JSON of the request, without the secret code. */
  fields: string
  /** Six digits, sealed. */
  secretCode: Buffer
  keyScope: string | null
  key: string | null
  createdAt: string
}

/** Codes from POAP. The embedded provider only counts codes. */
export interface BadgeCodesTable {
  badgeEventId: number
  number: number
  /** Sealed, because anyone with the code can claim the badge. */
  code: Buffer
  /** `lost`: claimed elsewhere. */
  state: 'free' | 'taken' | 'lost'
  /** Codes with a lower turn are taken first. A code that POAP refused moves behind the others. */
  turn: number
}

/** Created with the use of the OTP, and deleted if the mint fails. */
export interface BadgeClaimsTable {
  id: Generated<number>
  badgeEventId: number
  /** badgeCodes.number; null for the embedded provider. */
  codeNumber: number | null
  otpHash: string
  chipUid: string
  /** An address, an ENS name (at POAP), or an email address. */
  recipient: string
  deviceHash: string | null
  /** `open`: a code is reserved, and the provider has not answered. */
  state: 'open' | 'claimed'
  /** Calls to the provider without a definite result. */
  attempts: number
  /** 1: the provider may have received the code, so it is looked up before it is sent again. */
  isSent: number
  /** Next retry; null: a request is processing it, or it is finished. */
  dueAt: string | null
  reason: string | null
  /** 1: a response has reported success. Until then, repeated requests report it. */
  isAnswered: number
  /** POAP only. */
  transactionState: 'pending' | 'mined' | 'failed' | null
  transactionHash: string | null
  createdAt: string
  claimedAt: string | null
}

/** The badges that a recipient has of an event of the embedded provider, open claims included. */
export interface BadgeRecipientsTable {
  /** An address in lower case, or the keyed hash of an email address. */
  recipient: string
  badgeEventId: number
  badges: number
}

/** Events by the fields and image they were created from. */
export interface BadgeContentsTable {
  teamId: number
  hash: string
  /** Null: it was sent to the provider, and there is no answer yet. */
  badgeEventId: number | null
}

/** Images of embedded events. */
export interface BadgeImagesTable {
  badgeEventId: number
  /** Unguessable, for the URL. */
  file: string
  type: 'image/png' | 'image/gif'
  data: Buffer
}
