import type { Generated } from 'kysely'

/** What an event has that lives at POAP; an event without such a row is the embedded provider's. */
export interface PoapEventsTable {
  badgeEventId: number
  /** Six digits, sealed. */
  secretCode: Buffer
  /** When POAP is to be asked next whether it is approved; null: no more. */
  pollAt: string | null
  polls: number
  /** How long POAP is asked for more codes, once it gave fewer than were asked for. */
  pollUntil: string | null
}

/** An event that POAP was sent, or is about to be. It goes once it is known what became of it. */
export interface PoapCreationsTable {
  id: Generated<number>
  teamId: number
  name: string
  /** What was sent, as JSON, without the secret code. */
  fields: string
  /** Six digits, sealed. */
  secretCode: Buffer
  /** `unknown`: POAP did not answer. One that is `creating` when the daemon starts is as unknown. */
  state: 'creating' | 'unknown'
  /** Of the Idempotency-Key that it was sent under. */
  keyScope: string | null
  key: string | null
  createdAt: string
}

/** Codes that POAP gave. The embedded provider counts its codes, and has no more of them than a number. */
export interface BadgeCodesTable {
  badgeEventId: number
  number: number
  /** Sealed: whoever has it has the badge. */
  code: Buffer
  /** `lost`: somebody claimed it elsewhere. */
  state: 'free' | 'taken' | 'lost'
  /** Free codes of a lower turn are taken first: one that POAP would not give stands behind the others. */
  turn: number
}

/** A mint, from the write that takes its OTP. One that came to nothing leaves no row. */
export interface BadgeClaimsTable {
  id: Generated<number>
  badgeEventId: number
  /** Of badgeCodes; null at the embedded provider. */
  codeNumber: number | null
  otpHash: string
  chipUid: string
  /** Who gets it: an address, an ENS name (at POAP), or an e-mail address. */
  recipient: string
  deviceHash: string | null
  /** `open`: a code is reserved, and the provider's answer is not there yet. */
  state: 'open' | 'claimed'
  /** How often the provider was asked and what came of it stayed open. */
  attempts: number
  /** Whether the provider may have been sent this code for this recipient: from then on it is looked up first. */
  isSent: number
  /** When to look at it again; null: a request has it in hand, or there is nothing left to do. */
  dueAt: string | null
  /** Why it is still open, for operators. */
  reason: string | null
  /** Whether somebody was told that it is claimed. Until then a repetition of the request is. */
  isAnswered: number
  /** At POAP: what became of its transaction. */
  transactionState: 'pending' | 'mined' | 'failed' | null
  transactionHash: string | null
  createdAt: string
  claimedAt: string | null
}

/** Images of the embedded provider's events: each a file in the data directory. */
export interface BadgeImagesTable {
  badgeEventId: number
  /** Its name in the folder of images. */
  file: string
  type: 'image/png' | 'image/gif'
}
