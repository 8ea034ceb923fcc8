import { withRef } from '../../../values/redirect-url.ts'
import { lastTapOf } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import { linksOfTeam } from '../../store/links.ts'
import { findPageVisit } from '../../store/page-visits.ts'
import { findRef, hashCode } from '../../store/refs.ts'
import type { RefRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import type { TapRows } from '../../store/tap-to-take.ts'
import type { CodeSource } from '../codes/otps.ts'
import { type Progress, storeFailure } from '../errors.ts'
import { iso } from '../time.ts'
import { openSecrets, type PageSecrets, sealSecrets, type Visit } from './page-visits.ts'
import { type FreshTap, type JudgedTap, type TakeTapDeps, takeTap } from './take-tap.ts'
import { type TapQuery, verifyTap } from './verify-tap.ts'

/** The response to a person who opens a chip's URL. */
export type TapResponse<P> =
  | { kind: 'redirect'; url: string }
  | { kind: 'page'; page: P; cookie: PageCookie | undefined }
  | { kind: 'refused'; status: 400 | 404 | 410; reason: RefusalReason }

/** Lets the browser of a tap load its page again. */
export interface PageCookie {
  value: string
  maxAgeSeconds: number
}

/** `expired`: the tap was the chip's last one, or this browser's, but its time is over. */
export type RefusalReason = 'replayed' | 'expired' | 'caught-up' | 'unknown' | 'malformed' | 'disabled'

export type OpenTapDeps = TakeTapDeps & {
  codes: CodeSource
  box: SecretBox
  /** Milliseconds. */
  refLifetime: number
  otpLifetime: number
  wire: { refParameter: string }
}

/**
 * Takes the tap. The same browser, identified by the cookies of its taps, can load the page again until its codes
 * expire.
 * @param build makes the page; uses nothing up
 */
export async function openTap<P>(
  deps: OpenTapDeps,
  query: TapQuery,
  cookies: readonly string[],
  build: (visit: Visit) => Promise<P>,
): Promise<TapResponse<P>> {
  let early: Promise<P> | undefined
  const judged = await takeTap(deps, query, 'page', async (db, tap) => {
    early = undefined
    const { visit, ...made } = await makeRefs(db, deps, tap)
    const meanwhile = () => {
      early = build(visit(newest))
      early.catch(() => undefined)
    }
    const result = (tapId: number) => ({ ...made, visit: visit(tapId) })
    return { rows: made.rows, result, meanwhile: tap.chip.redirectUrl === null ? meanwhile : undefined }
  })
  switch (judged.kind) {
    case 'malformed':
      return refused(400, 'malformed')
    case 'unknown':
    case 'forged':
      return refused(404, 'unknown')
    case 'disabled':
      return refused(404, 'disabled')
    case 'caught-up':
      return refused(410, 'caught-up')
    case 'replayed':
      return openAgain(deps, judged, cookies, build)
    case 'taken': {
      const { chip, result } = judged
      const { visit, cookie } = result
      if (chip.redirectUrl !== null)
        return {
          kind: 'redirect',
          url: withRef(chip.redirectUrl, deps.wire.refParameter, visit.secrets.own),
        }
      const maxAgeSeconds = Math.floor(visitLifetime(deps) / 1000)
      const page = await (early ?? build(visit)).catch((error: unknown) => {
        throw storeFailure(error, usedUp) ?? error
      })
      return { kind: 'page', page, cookie: { value: cookie, maxAgeSeconds } }
    }
  }
}

const usedUp: Progress = {
  isWritten: true,
  doubt: 'This tap was used up. Tap the chip again: the next tap is a new one.',
}

/** Of a tap that is being taken, which no other one follows yet. */
const newest = Number.MAX_SAFE_INTEGER

const refused = (status: 400 | 404 | 410, reason: RefusalReason): TapResponse<never> => ({
  kind: 'refused',
  status,
  reason,
})

// Codes can be created until the ref expires, and then live on.
const visitLifetime = (deps: Pick<OpenTapDeps, 'refLifetime' | 'otpLifetime'>): number =>
  deps.refLifetime + deps.otpLifetime

interface Opened {
  rows: TapRows
  visit: (tapId: number) => Visit
  cookie: string
}

/** The refs of a tap, and its page where the chip redirects to none. */
async function makeRefs(db: Queries, deps: OpenTapDeps, { chip, now }: FreshTap): Promise<Opened> {
  const times = { createdAt: iso(now), expiresAt: iso(now + deps.refLifetime) }
  const refs: { code: string; kind: RefRow['kind']; expiresAt: string }[] = []
  const make = (kind: RefRow['kind']): string => {
    const code = deps.codes.code()
    refs.push({ code, kind, expiresAt: times.expiresAt })
    return code
  }
  const secrets: PageSecrets = { own: make('redirect'), links: [] }
  const cookie = deps.codes.code()
  const expiresAt = iso(now + visitLifetime(deps))
  const visit = (tapId: number): Visit => ({
    ref: { ...chip, kind: 'redirect', tapId, ...times, queriedAt: null, isEnded: false },
    secrets,
    cookieHash: hashCode(cookie),
    expiresAt,
  })
  if (chip.redirectUrl !== null) return { rows: { refs }, visit, cookie }
  const links = chip.carried?.links ?? (await linksOfTeam(db, chip.teamId))
  for (const link of links) secrets.links.push([link.id, make('link')])
  const page = { cookie, refHash: hashCode(secrets.own), refs: sealSecrets(deps.box, secrets), expiresAt }
  return { rows: { refs, visit: page }, visit, cookie }
}

/** True if the browser can load the page of this tap again. Uses nothing up. */
export async function isOwnVisit(
  deps: Pick<OpenTapDeps, 'db' | 'keyRing' | 'clock'>,
  query: TapQuery,
  cookies: readonly string[],
): Promise<boolean> {
  const tap = cookies.length === 0 ? undefined : await verifyTap(deps, query)
  if (tap?.kind !== 'genuine' || tap.chip.disabledAt !== null) return false
  const { chip, counter } = tap
  const row = await findPageVisit(deps.db.read, cookies, { chipUid: chip.uid, counter })
  return row !== undefined && row.expiresAt > iso(deps.clock.now())
}

async function openAgain<P>(
  deps: OpenTapDeps,
  { chip, counter }: Extract<JudgedTap<unknown>, { kind: 'replayed' }>,
  cookies: readonly string[],
  build: (visit: Visit) => Promise<P>,
): Promise<TapResponse<P>> {
  // A disabled chip would otherwise ask for one more tap, again and again.
  if (chip.disabledAt !== null) return refused(404, 'disabled')
  const now = deps.clock.now()
  const tap = { chipUid: chip.uid, counter }
  const row = cookies.length === 0 ? undefined : await findPageVisit(deps.db.read, cookies, tap)
  if (row) {
    const { cookieHash, expiresAt } = row
    const secrets = openSecrets(deps.box, row.refs)
    const ref = expiresAt <= iso(now) ? undefined : await findRef(deps.db.read, secrets.own)
    if (!ref) return refused(410, 'expired')
    const page = await build({ ref, secrets, cookieHash, expiresAt })
    return { kind: 'page', page, cookie: undefined }
  }
  const last = await lastTapOf(deps.db.read, { uid: chip.uid })
  const isLast = last?.lastCounter === counter && last.lastTapAt !== null
  const isOver = isLast && last.lastTapAt !== null && last.lastTapAt <= iso(now - visitLifetime(deps))
  return refused(410, isOver ? 'expired' : 'replayed')
}
