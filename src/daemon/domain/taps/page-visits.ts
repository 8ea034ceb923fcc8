import type { Db } from '../../store/database/database.ts'
import { type TapOfChip, tapsOf } from '../../store/taps/recorded-taps.ts'
import { type IssuedCodes, isOf, issuedCodes, type Seals } from '../codes/seals.ts'

/** A tap page, found by its ref or by its browser's cookies: the chip, the tap, and the page's codes. */
export interface Visit {
  tap: TapOfChip
  /** The page's own ref. */
  ref: string
  /** Refs of its links, by link ID. */
  links: [linkId: number, ref: string][]
  /** Undefined before its first action. */
  codes: IssuedCodes | undefined
  /** When the page can no longer be reloaded; ISO 8601. */
  expiresAt: string
  /** Of a mailed link: when it was kept, which is when badges had to be shown. */
  keptAt?: string
}

/** Links on a tap's page: the first one has the ref with ordinal 1. */
const linksOf = (stored: string | null): number[] =>
  stored === null || stored === '' ? [] : stored.split(',').map(Number)

/** Undefined for a tap without a page. */
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

/** One browser's visits of a chip, including expired ones. @param cookies of any taps */
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
