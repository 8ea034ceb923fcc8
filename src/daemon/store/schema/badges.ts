import type { Generated } from 'kysely'

/** The POAP side of an event. An event without such a row belongs to the embedded provider. */
export interface PoapEventsTable {
  badgeEventId: number
  /** Six digits, sealed. */
  secretCode: Buffer
  /** When POAP is to be asked next whether it is approved; null: no more. */
  pollAt: string | null
  polls: number
  /** Until then POAP is asked for the codes that it still owes. */
  pollUntil: string | null
}

/** An event on its way to POAP. Deleted once the outcome is known. */
export interface PoapCreationsTable {
  id: Generated<number>
  teamId: number
  name: string
  /** JSON of the request, without the secret code. */
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
  /** An address, an ENS name (at POAP), or an email address. */
  recipient: string
  deviceHash: string | null
  /** `open`: a code is reserved, and the provider's answer is not there yet. */
  state: 'open' | 'claimed'
  /** Calls to the provider without a definite outcome. */
  attempts: number
  /** 1: the provider may have received this code for this recipient, so it is looked up before it is sent again. */
  isSent: number
  /** When to look at it again; null: a request has it in hand, or there is nothing left to do. */
  dueAt: string | null
  /** For operators. */
  reason: string | null
  /** 1: a response said that it is claimed. Until then a repeated request says so. */
  isAnswered: number
  /** POAP only. */
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
