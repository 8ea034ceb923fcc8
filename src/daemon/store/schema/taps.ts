import type { Generated } from 'kysely'

export interface TapsTable {
  id: Generated<number>
  at: string
  chipUid: string | null
  teamId: number | null
  keySetId: number | null
  counter: number | null
  outcome: 'valid' | 'replayed' | 'wrong-mac' | 'disabled' | 'unknown-chip' | 'unknown-key-set'
  via: 'find' | 'page'
}

export interface RefsTable {
  id: string
  kind: 'redirect' | 'link'
  chipUid: string
  tapId: number
  /** The third-party link that it stands on. */
  linkId: number | null
  createdAt: string
  expiresAt: string
  queriedAt: string | null
}

export interface OtpsTable {
  code: string
  type: 'PHYGITAL_CLAIM' | 'POAP_EVENT' | 'GUESTBOOK_EVENT'
  chipUid: string
  tapId: number
  tokenRow: number | null
  badgeEventId: number | null
  guestbookEventId: number | null
  createdAt: string
  expiresAt: string
  usedAt: string | null
  deletedAt: string | null
}

/** Lets the browser that made a tap load its page again. */
export interface PageVisitsTable {
  /** SHA-256 of the cookie's value, hex. */
  cookieHash: string
  tapId: number
  chipUid: string
  counter: number
  expiresAt: string
}
