import type { Generated } from 'kysely'

/** Things that a tap allows, kept for a person who gave an e-mail address. At most one for a tap. */
export interface ReservationsTable {
  tapId: number
  chipUid: string
  teamId: number
  /** Null: the chip's token is not minted yet. */
  tokenRow: number | null
  /** See ChipsTable.claimRound; null until it is kept. Another one: the claim was ended. */
  round: number | null
  /** `asked`: a code was mailed. `kept`: until a wallet is named. `done`: everything went to a wallet. */
  state: 'asked' | 'kept' | 'done' | 'ended'
  /** Encrypted; null once it is forgotten. */
  address: Uint8Array | null
  /** Keyed, for recognizing the address. */
  addressHash: string | null
  /** Of the person's browser. */
  language: string
  /** The code and the link are derived from it; new for each mail that replaces another. */
  nonce: string
  codeUntil: string
  /** Mails that the tap has asked for. */
  asks: number
  /** Codes that were entered since the last mail. */
  tries: number
  /** 1: it keeps the claim of the chip's token. 2: whoever taps the chip can still claim it, which ends this. */
  claims: number
  /** Things that have no wallet yet. */
  left: number
  keptAt: string | null
  endsAt: string | null
  endedAt: string | null
  linkHash: string | null
  /** EIP-55; who owned the token when it was kept. Null: nobody, or it could not be told. */
  holder: string | null
  createdAt: string
}

/** A badge of a reservation: it holds one of its event's codes, which nobody else gets. */
export interface KeptBadgesTable {
  tapId: number
  badgeEventId: number
  /** Of the claim that has taken the code over, while it is open. */
  otpHash: string | null
}

/** A queue: neither sent nor failed is still to be sent. */
export interface MailsTable {
  id: Generated<number>
  tapId: number
  kind: 'code' | 'link'
  /** Of the reservation when it was queued; another one has replaced it since. */
  nonce: string
  /** The same in each attempt, so that a mail that arrives twice is recognized. */
  messageId: string
  dueAt: string
  attempts: number
  sentAt: string | null
  failedAt: string | null
  /** Why the last attempt failed; without the address. */
  reason: string | null
  createdAt: string
}

/** Mails counted within a span of time. */
export interface MailQuotasTable {
  key: string
  until: string
  count: number
}
