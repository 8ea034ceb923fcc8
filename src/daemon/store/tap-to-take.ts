import type { ChipRow, OtpRow, RefRow, TapRow } from './schema.ts'

/** What a tap leaves besides its own row. Times are ISO 8601; codes are kept as hashes. */
export interface TapRows {
  refs?: readonly { code: string; kind: RefRow['kind']; expiresAt: string }[]
  otps?: readonly (OtpOfTap & { code: string })[]
  visit?: {
    cookie: string
    refHash: string
    /** See PageVisitsTable. */
    refs: Uint8Array
    expiresAt: string
  }
}

/** What webhooks are told of a valid tap. */
export interface TapMessage {
  webhooks: readonly number[]
  messageId: string
  type: string
  /** ISO 8601 */
  at: string
  /** A JSON object, to which `chipGroup` is yet to be added. */
  data: string
}

/** All that a usual tap writes, if its chip is still as it was seen. */
export interface TapToTake {
  seen: Pick<ChipRow, 'uid' | 'teamId' | 'keySetId' | 'generation' | 'redirectUrl' | 'itemId' | 'tokenRow'>
  tap: Omit<TapRow, 'id'>
  rows: TapRows
  message: TapMessage | undefined
  /** IDs of the events that its codes depend on, ascending; undefined: on none. */
  events: { badges: readonly number[]; guestbooks: readonly number[] } | undefined
}

export type OtpOfTap = Pick<OtpRow, 'type' | 'tokenRow' | 'badgeEventId' | 'guestbookEventId' | 'expiresAt'>
