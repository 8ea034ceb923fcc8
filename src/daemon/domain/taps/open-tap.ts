import { withRef } from '../../../values/redirect-url.ts'
import { lastTapOf, type TappedChip } from '../../store/chips/chips.ts'
import { linksOfTeam } from '../../store/chips/links.ts'
import { maxLinks } from '../../store/taps/recorded-taps.ts'
import type { Seals } from '../codes/seals.ts'
import { type Progress, storeFailure } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { unfilledIn } from './explain-tap.ts'
import { type Visit, visitOf, visitsOfBrowser } from './page-visits.ts'
import { type JudgedTap, type TakenTap, type TakeTapDeps, type TapEffects, takeTap } from './take-tap.ts'
import { type TapQuery, verifyTap } from './verify-tap.ts'

/** The response to a person who opens a chip's URL. */
export type TapResponse<P> =
  | { kind: 'redirect'; url: string }
  | { kind: 'page'; page: P; cookie: PageCookie | undefined }
  /** `chip`: the one that made the tap; undefined if none did. */
  | { kind: 'refused'; status: 400 | 404 | 410; reason: RefusalReason; chip: RefusedChip | undefined }

/** Lets the browser of a tap load its page again. */
export interface PageCookie {
  value: string
  maxAgeSeconds: number
}

type RefusedChip = Pick<TappedChip, 'uid' | 'teamId'>

/** `expired`: the chip's or this browser's last tap, but its time is over. `unfilled`: see unfilledIn. */
export type RefusalReason =
  | 'replayed'
  | 'expired'
  | 'caught-up'
  | 'unknown'
  | 'unfilled'
  | 'malformed'
  | 'disabled'

export type OpenTapDeps = TakeTapDeps & {
  seals: Seals
  /** Milliseconds. */
  refLifetime: number
  otpLifetime: number
  wire: { refParameter: string }
}

/**
 * Uses up the tap. The same browser, identified by the cookies of its taps, can load the page again until its codes
 * expire.
 * @param build makes the page; uses nothing up
 */
export async function openTap<P>(
  deps: OpenTapDeps,
  query: TapQuery,
  cookies: readonly string[],
  build: (visit: Visit) => Promise<P>,
): Promise<TapResponse<P>> {
  const judged = await takeTap(deps, query, 'page', (chip, now) => refsFor(deps, chip, now))
  switch (judged.kind) {
    case 'malformed':
      return refusal(400, 'malformed')
    case 'unknown':
    case 'forged':
      return refusal(404, unfilledIn(deps.keyRing, query) === undefined ? 'unknown' : 'unfilled')
    case 'disabled':
      return refusal(404, 'disabled', judged.chip)
    case 'caught-up':
      return refusal(410, 'caught-up', judged.chip)
    case 'replayed':
      return openAgain(deps, judged, cookies, build)
    case 'taken': {
      const { chip, tap } = judged
      if (chip.redirectUrl !== null) {
        const { refParameter } = deps.wire
        return { kind: 'redirect', url: withRef(chip.redirectUrl, refParameter, deps.seals.ref(tap, 0)) }
      }
      const page = await build(freshVisit(deps.seals, chip, tap)).catch((error: unknown) => {
        throw storeFailure(error, usedUp) ?? error
      })
      const maxAgeSeconds = Math.floor(visitLifetime(deps) / 1000)
      return { kind: 'page', page, cookie: { value: deps.seals.cookie(tap), maxAgeSeconds } }
    }
  }
}

const usedUp: Progress = {
  isWritten: true,
  outcomeMessage: 'This tap was used up. Tap the chip again: the next tap is a new one.',
}

const refusal = (status: 400 | 404 | 410, reason: RefusalReason, chip?: RefusedChip): TapResponse<never> => ({
  kind: 'refused',
  status,
  reason,
  chip,
})

// Codes can be created until the ref expires, and remain valid after that.
const visitLifetime = (deps: Pick<OpenTapDeps, 'refLifetime' | 'otpLifetime'>): number =>
  deps.refLifetime + deps.otpLifetime

/** A tap's refs, and its page unless the chip redirects. */
async function refsFor(deps: OpenTapDeps, chip: TappedChip, now: number): Promise<TapEffects<undefined>> {
  const refsUntil = iso(now + deps.refLifetime)
  if (chip.redirectUrl !== null) return { refsUntil, result: undefined }
  const links = await linksOfTeam(deps.db.read, chip.teamId)
  return {
    refsUntil,
    pageUntil: iso(now + visitLifetime(deps)),
    links: links
      .slice(0, maxLinks)
      .map(({ id }) => id)
      .join(','),
    result: undefined,
  }
}

function freshVisit(seals: Seals, chip: TappedChip, tap: TakenTap): Visit {
  const { id: tapId, at, counter, refsUntil, pageUntil, links, queried, codes } = tap
  // V8 takes 20 µs to spread two large objects into one, and less than 1 µs for one that comes last.
  const visit = visitOf(seals, {
    tapId,
    at,
    counter,
    refsUntil,
    pageUntil,
    links,
    queried,
    codes,
    isEnded: false,
    ...chip,
  })
  if (!visit) throw new Error('A tap without a page was opened')
  return visit
}

/** True if the browser can reload the page of this tap. Uses nothing up. */
export async function isOwnVisit(
  deps: Pick<OpenTapDeps, 'db' | 'keyRing' | 'clock' | 'seals'>,
  query: TapQuery,
  cookies: readonly string[],
): Promise<boolean> {
  const tap = cookies.length === 0 ? undefined : await verifyTap(deps, query)
  if (tap?.kind !== 'genuine' || tap.chip.disabledAt !== null) return false
  const { chip, counter } = tap
  const now = iso(deps.clock.now())
  const visits = await visitsOfBrowser(deps, cookies, chip.uid)
  return visits.some(({ tap, expiresAt }) => tap.counter === counter && expiresAt > now)
}

async function openAgain<P>(
  deps: OpenTapDeps,
  { chip, counter }: Extract<JudgedTap<unknown>, { kind: 'replayed' }>,
  cookies: readonly string[],
  build: (visit: Visit) => Promise<P>,
): Promise<TapResponse<P>> {
  // Otherwise, a disabled chip would ask for one more tap again and again.
  if (chip.disabledAt !== null) return refusal(404, 'disabled', chip)
  const now = deps.clock.now()
  const visits = await visitsOfBrowser(deps, cookies, chip.uid)
  const visit = visits.find(({ tap }) => tap.counter === counter)
  if (visit) {
    if (visit.expiresAt <= iso(now)) return refusal(410, 'expired', chip)
    return { kind: 'page', page: await build(visit), cookie: undefined }
  }
  const last = await lastTapOf(deps.db.read, { uid: chip.uid })
  const isLast = last?.lastCounter === counter && last.lastTapAt !== null
  const isExpired = isLast && last.lastTapAt !== null && last.lastTapAt <= iso(now - visitLifetime(deps))
  return refusal(410, isExpired ? 'expired' : 'replayed', chip)
}
