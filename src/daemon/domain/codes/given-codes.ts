import { type MadeCodes, madeCodes } from '../../store/taps/made-codes.ts'
import type { SealedTap, Seals } from './seals.ts'

/** What a ref gave for its one query, or a page for its first action. */
export interface IssuedCodes {
  /** ISO 8601 */
  until: string
  /** Code for the chip's token. */
  token?: string
  /** Code for the token that is to be minted. */
  unminted?: string
  /** By event ID. */
  badges: Map<number, string>
  guestbooks: Map<number, string>
}

/** The code for the token, whether it exists or is to be minted. */
export const claimOf = (codes: IssuedCodes | undefined): string | undefined => codes?.token ?? codes?.unminted

/** @param by see MadeCodes @param codes see TapsTable.codes @returns undefined if nothing was asked by it yet */
export function issuedCodes(
  seals: Seals,
  tap: SealedTap,
  codes: string | null,
  by: MadeCodes['by'],
): IssuedCodes | undefined {
  const query = madeCodes(codes).find((one) => one.by === by)
  if (!query) return undefined
  const issued: IssuedCodes = { until: query.until, badges: new Map(), guestbooks: new Map() }
  for (const [at, subject] of query.subjects.entries()) {
    const code = seals.code(tap, query.first + at)
    if (subject.type === 'POAP_EVENT') issued.badges.set(subject.badgeEventId, code)
    else if (subject.type === 'GUESTBOOK_EVENT') issued.guestbooks.set(subject.guestbookEventId, code)
    else issued[subject.tokenRow === null ? 'unminted' : 'token'] = code
  }
  return issued
}
