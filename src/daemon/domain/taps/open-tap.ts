import { withRef } from '../../../values/redirect-url.ts'
import { lastTapOf } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import { linksOfTeam } from '../../store/links.ts'
import { findPageVisit, insertPageVisit } from '../../store/page-visits.ts'
import { findRef, hashCode, insertRef } from '../../store/refs.ts'
import type { RefRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import type { CodeSource } from '../codes/otps.ts'
import { iso } from '../time.ts'
import { openSecrets, type PageSecrets, sealSecrets, type Visit } from './page-visits.ts'
import { type JudgedTap, type TakeTapDeps, type TapOfChip, takeTap } from './take-tap.ts'
import { type TapQuery, verifyTap } from './verify-tap.ts'

/** The response to a person who opens a chip's URL. */
export type TapResponse =
  | { kind: 'redirect'; url: string }
  | { kind: 'page'; visit: Visit; cookie: PageCookie | undefined }
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
 */
export async function openTap(
  deps: OpenTapDeps,
  query: TapQuery,
  cookies: readonly string[],
): Promise<TapResponse> {
  const judged = await takeTap(deps, query, 'page', (trx, tap) => makeRefs(trx, deps, tap))
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
      return openAgain(deps, judged, cookies)
    case 'taken': {
      const { chip, result } = judged
      if (chip.redirectUrl !== null)
        return {
          kind: 'redirect',
          url: withRef(chip.redirectUrl, deps.wire.refParameter, result.visit.secrets.own),
        }
      const maxAgeSeconds = Math.floor(visitLifetime(deps) / 1000)
      return { kind: 'page', visit: result.visit, cookie: { value: result.cookie, maxAgeSeconds } }
    }
  }
}

const refused = (status: 400 | 404 | 410, reason: RefusalReason): TapResponse => ({
  kind: 'refused',
  status,
  reason,
})

// Codes can be created until the ref expires, and then live on.
const visitLifetime = (deps: Pick<OpenTapDeps, 'refLifetime' | 'otpLifetime'>): number =>
  deps.refLifetime + deps.otpLifetime

async function makeRefs(
  trx: Queries,
  deps: OpenTapDeps,
  { chip, tapId, counter, now }: TapOfChip,
): Promise<{ visit: Visit; cookie: string }> {
  const times = { createdAt: iso(now), expiresAt: iso(now + deps.refLifetime) }
  const make = async (kind: RefRow['kind']): Promise<string> => {
    const id = deps.codes.code()
    await insertRef(trx, id, { kind, chipUid: chip.uid, tapId, ...times })
    return id
  }
  const secrets: PageSecrets = { own: await make('redirect'), links: [] }
  const cookie = deps.codes.code()
  const visit: Visit = {
    ref: { ...chip, kind: 'redirect', tapId, ...times, queriedAt: null, isEnded: false },
    secrets,
    cookieHash: hashCode(cookie),
    expiresAt: iso(now + visitLifetime(deps)),
  }
  if (chip.redirectUrl !== null) return { visit, cookie }
  for (const link of await linksOfTeam(trx, chip.teamId)) secrets.links.push([link.id, await make('link')])
  await insertPageVisit(trx, cookie, {
    refHash: hashCode(secrets.own),
    chipUid: chip.uid,
    counter,
    refs: sealSecrets(deps.box, secrets),
    expiresAt: visit.expiresAt,
  })
  return { visit, cookie }
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

async function openAgain(
  deps: OpenTapDeps,
  { chip, counter }: Extract<JudgedTap<unknown>, { kind: 'replayed' }>,
  cookies: readonly string[],
): Promise<TapResponse> {
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
    return { kind: 'page', visit: { ref, secrets, cookieHash, expiresAt }, cookie: undefined }
  }
  const last = await lastTapOf(deps.db.read, { uid: chip.uid })
  const isLast = last?.lastCounter === counter && last.lastTapAt !== null
  const isOver = isLast && last.lastTapAt !== null && last.lastTapAt <= iso(now - visitLifetime(deps))
  return refused(410, isOver ? 'expired' : 'replayed')
}
