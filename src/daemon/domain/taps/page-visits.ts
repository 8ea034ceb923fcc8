import type { Db } from '../../store/database/database.ts'
import { type TapOfChip, tapsOf } from '../../store/taps/recorded-taps.ts'
import { type IssuedCodes, isOf, issuedCodes, type Seals } from '../codes/seals.ts'

/** A tap page, found by its own ref or by its browser: the chip, the tap, and what the page was given. */
export interface Visit {
  tap: TapOfChip
  /** Its own ref. */
  ref: string
  /** Refs of its links, by link ID. */
  links: [linkId: number, ref: string][]
  /** Undefined until its first action. */
  codes: IssuedCodes | undefined
  /** When the page cannot be loaded again; ISO 8601. */
  expiresAt: string
}

/** The links of a page's tap: the first has the ref of ordinal 1. */
const linksOf = (stored: string | null): number[] =>
  stored === null || stored === '' ? [] : stored.split(',').map(Number)

/** Undefined for a tap that has no page. */
export function visitOf(seals: Seals, tap: TapOfChip): Visit | undefined {
  if (tap.pageUntil === null) return undefined
  const of = { id: tap.tapId, at: tap.at }
  return {
    tap,
    ref: seals.ref(of, 0),
    links: linksOf(tap.links).map((link, index) => [link, seals.ref(of, index + 1)]),
    codes: issuedCodes(seals, of, tap.codes, 'page'),
    expiresAt: tap.pageUntil,
  }
}

/** The visits of a chip by one browser, even if their time is over. @param cookies of any taps */
export async function visitsOfBrowser(
  { db, seals }: { db: Pick<Db, 'read'>; seals: Seals },
  cookies: readonly string[],
  uid: string,
): Promise<Visit[]> {
  const sealed = cookies.flatMap((cookie) => seals.openCookie(cookie) ?? []).filter((one) => one.isCurrent)
  if (sealed.length === 0) return []
  const taps = await tapsOf(db.read, { ids: sealed.map(({ tapId }) => tapId), uid })
  return taps
    .filter((tap) => !tap.isEnded && sealed.some((one) => one.tapId === tap.tapId && isOf(one, tap)))
    .flatMap((tap) => visitOf(seals, tap) ?? [])
}
