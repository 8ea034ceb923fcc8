import type { LocatedToken } from '../../store/phygitals/tokens.ts'
import type { ClaimRegistrationRow } from '../../store/schema/schema.ts'
import { isLaterTap } from '../../store/taps/taps.ts'
import { claimOf } from '../codes/seals.ts'
import { visitsOfBrowser } from '../taps/page-visits.ts'
import { mayClaim } from '../taps/refs.ts'
import { iso } from '../time/time.ts'
import type { ActionState, ClosedReason } from './content.ts'
import { type RecordDeps, recordedRegistration, transactionState } from './records.ts'
import type { Visit } from './visit.ts'

/** A visit, and the registrations of its chip's token. */
export interface RegistrationFacts {
  visit: Visit
  token: LocatedToken | undefined
  /** Claim registrations of the token. */
  registrations: readonly ClaimRegistrationRow[]
  /** Cookies of the taps in this browser. */
  cookies: readonly string[]
}

export interface OwnRegistration {
  state: Extract<ActionState, { is: 'registered' }>
  /** The ENS name that was typed for it. */
  name: string | undefined
}

/** The registration made by this page, or by an earlier page of this browser. */
export async function registrationOf(
  deps: RecordDeps,
  { visit, token, registrations, cookies }: RegistrationFacts,
): Promise<OwnRegistration | undefined> {
  if (!token) return undefined
  const now = iso(deps.clock.now())
  const known = registrations.filter(({ expiresAt }) => expiresAt > now)
  if (known.length === 0) return undefined
  const { tapId: own, uid } = visit.tap
  const others = (await visitsOfBrowser(deps, cookies, uid)).filter(
    ({ tap, expiresAt }) => tap.tapId !== own && expiresAt > now,
  )
  for (const { tap, codes } of [visit, ...others]) {
    const { tapId } = tap
    // A later registration of the same wallet is the same one, which belongs to the first tap.
    const claim = claimOf(codes)
    const recorded = claim === undefined ? undefined : await recordedRegistration(deps, claim)
    const row = known.find((one) => one.tapId === tapId || one.recipient === recorded?.recipient)
    if (!row) continue
    const { recipient, createdAt: registeredAt, allowedAt, expiresAt } = row
    const isLater = tapId !== own && (row.tapId === null || (await isLaterTap(deps.db.read, own, row.tapId)))
    const dates = { registeredAt, allowedAt, expiresAt }
    const name = recorded?.recipient === recipient ? recorded.name : undefined
    return { state: { is: 'registered', recipient, ...dates, isSameTap: !isLater }, name }
  }
  return undefined
}

/** The state of a page's own registration that is over; undefined: the page made none. */
export async function pastRegistration(
  deps: RecordDeps,
  visit: Visit,
  code: string,
): Promise<ActionState | undefined> {
  const own = await recordedRegistration(deps, code)
  if (own) {
    const reason = whyGone(deps, visit, own)
    // A transfer used up the registration.
    if (reason === 'claimed') return { is: 'confirmed', recipient: own.recipient, transaction: undefined }
    return { is: 'closed', reason }
  }
  const claimed = await transactionState(deps, code, 'claim')
  if (claimed && 'recipient' in claimed && claimed.is !== 'open')
    return { is: 'confirmed', recipient: claimed.recipient, transaction: undefined }
  return undefined
}

/** Why the registration made by this page no longer exists. */
export function whyGone(
  { clock }: Pick<RecordDeps, 'clock'>,
  { tap }: Visit,
  { expiresAt }: { expiresAt: string },
): ClosedReason {
  if (expiresAt <= iso(clock.now())) return 'expired'
  return mayClaim(tap, tap) ? 'withdrawn' : 'claimed'
}

interface OwnClaims {
  /** To whom this browser had the token sent; EIP-55. */
  recipients: ReadonlySet<string>
  /** Hash of the transaction of the last one. */
  latest: string | undefined
}

/** The confirmed claims that this browser's pages of the chip made. */
export async function claimsOfBrowser(
  deps: RecordDeps,
  { visit, cookies }: Pick<RegistrationFacts, 'visit' | 'cookies'>,
): Promise<OwnClaims> {
  const visits = [visit, ...(await visitsOfBrowser(deps, cookies, visit.tap.uid))]
  // A claim of a later tap ends those of the taps before.
  const taps = new Map<string, string>()
  for (const { tap, codes } of visits) {
    const code = claimOf(codes)
    if (code !== undefined) taps.set(code, tap.at)
  }
  if (taps.size === 0) return { recipients: new Set(), latest: undefined }
  const claims = await Promise.all(
    [...taps].map(async ([code, at]) => {
      const state = await transactionState(deps, code, 'claim')
      return state?.is === 'confirmed' ? [{ ...state, at }] : []
    }),
  )
  const confirmed = claims.flat().sort((one, other) => (one.at < other.at ? -1 : 1))
  return {
    recipients: new Set(confirmed.flatMap(({ recipient }) => recipient ?? [])),
    latest: confirmed.at(-1)?.transaction?.hash,
  }
}
