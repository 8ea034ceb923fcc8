import { type MadeCodes, madeCodes } from '../../store/taps/made-codes.ts'
import type { SealedTap, Seals } from './seals.ts'

/** What a ref gave for its one query, or a page for its first action. */
export interface GivenCodes {
  /** ISO 8601 */
  until: string
  /** Of the chip's token. */
  token?: string
  /** Of the token that is to be minted. */
  unminted?: string
  /** By event ID. */
  badges: Map<number, string>
  guestbooks: Map<number, string>
}

/** Of the token, or of the one that is to be minted. */
export const claimOf = (codes: GivenCodes | undefined): string | undefined => codes?.token ?? codes?.unminted

/** @param by see MadeCodes @param codes see TapsTable.codes @returns undefined if nothing was asked by it yet */
export function givenCodes(
  seals: Seals,
  tap: SealedTap,
  codes: string | null,
  by: MadeCodes['by'],
): GivenCodes | undefined {
  const made = madeCodes(codes).find((one) => one.by === by)
  if (!made) return undefined
  const given: GivenCodes = { until: made.until, badges: new Map(), guestbooks: new Map() }
  for (const [at, subject] of made.subjects.entries()) {
    const code = seals.code(tap, made.first + at)
    if (subject.type === 'POAP_EVENT') given.badges.set(subject.badgeEventId, code)
    else if (subject.type === 'GUESTBOOK_EVENT') given.guestbooks.set(subject.guestbookEventId, code)
    else given[subject.tokenRow === null ? 'unminted' : 'token'] = code
  }
  return given
}
