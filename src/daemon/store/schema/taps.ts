import type { Generated } from 'kysely'

export interface TapsTable {
  id: Generated<number>
  at: string
  chipUid: string | null
  teamId: number | null
  keySetId: number | null
  counter: number | null
  outcome: 'valid' | 'replayed' | 'caught-up' | 'wrong-mac' | 'disabled' | 'unknown-chip' | 'unknown-key-set'
  via: 'find' | 'page'
  /** The seal of a TagTamper chip, if the tap tells it. */
  tamper: 'closed' | 'open' | null
}

export interface RefsTable {
  /** See hashCode. */
  idHash: string
  kind: 'redirect' | 'link'
  chipUid: string
  tapId: number
  createdAt: string
  expiresAt: string
  queriedAt: string | null
}

export interface OtpsTable {
  codeHash: string
  type: 'PHYGITAL_CLAIM' | 'POAP_EVENT' | 'GUESTBOOK_EVENT'
  chipUid: string
  tapId: number
  tokenRow: number | null
  badgeEventId: number | null
  guestbookEventId: number | null
  createdAt: string
  expiresAt: string
  usedAt: string | null
  /** The transfer signature that the code was used up for, sealed with the code itself. */
  signature: Uint8Array | null
  deletedAt: string | null
}

/** Allows the browser of a tap to reload the page. */
export interface PageVisitsTable {
  cookieHash: string
  /** Of the page's own ref; null: the visit is older than this column. */
  refHash: string | null
  chipUid: string
  counter: number
  /** Refs and codes of the page, encrypted with the data key: see PageSecrets. */
  refs: Uint8Array
  expiresAt: string
}
