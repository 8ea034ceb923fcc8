import type { Queries } from '../../store/database.ts'
import { insertOtp } from '../../store/otps.ts'
import type { Carried } from '../chips/carried.ts'
import { iso } from '../time.ts'
import type { CodeSource } from './codes.ts'

/** What a code will authorise. */
export type OtpSubject =
  | { type: 'PHYGITAL_CLAIM'; tokenRow: number | null }
  | { type: 'POAP_EVENT'; badgeEventId: number }
  | { type: 'GUESTBOOK_EVENT'; guestbookEventId: number }

/** The tap that a code comes from. */
export interface Origin {
  chipUid: string
  tapId: number
  /** Milliseconds since the epoch. */
  now: number
}

export interface OtpDeps {
  codes: CodeSource
  /** Milliseconds. */
  otpLifetime: number
}

/** Makes a single-use code for one subject, remembering its tap. */
export async function makeOtp(db: Queries, deps: OtpDeps, origin: Origin, subject: OtpSubject) {
  const { chipUid, tapId, now } = origin
  const code = deps.codes.code()
  const expiresAt = iso(now + deps.otpLifetime)
  await insertOtp(db, code, {
    type: subject.type,
    chipUid,
    tapId,
    tokenRow: subject.type === 'PHYGITAL_CLAIM' ? subject.tokenRow : null,
    badgeEventId: subject.type === 'POAP_EVENT' ? subject.badgeEventId : null,
    guestbookEventId: subject.type === 'GUESTBOOK_EVENT' ? subject.guestbookEventId : null,
    createdAt: iso(now),
    expiresAt,
  })
  return { code, expiresAt }
}

/** The one subject of a chip look-up: its token, else its first badge event, its minting, its first guestbook event. */
export function firstSubject(carried: Carried): OtpSubject | undefined {
  const [badge] = carried.badgeEvents
  const [guestbook] = carried.guestbookEvents
  if (carried.token) return { type: 'PHYGITAL_CLAIM', tokenRow: carried.token.row }
  if (badge) return { type: 'POAP_EVENT', badgeEventId: badge.id }
  if (carried.isUnminted) return { type: 'PHYGITAL_CLAIM', tokenRow: null }
  return guestbook && { type: 'GUESTBOOK_EVENT', guestbookEventId: guestbook.id }
}
