import type { Actor } from '../../store/audit/audit.ts'
import { isOvertaken } from '../../store/reservations/endings.ts'
import { findReservationByLink } from '../../store/reservations/reservations.ts'
import { findTap } from '../../store/taps/recorded-taps.ts'
import { issuedCodes } from '../codes/seals.ts'
import { DomainError } from '../errors/errors.ts'
import { endIfMoved } from '../reservations/holder.ts'
import { linkHashOf } from '../reservations/secrets.ts'
import { iso } from '../time/time.ts'
import { type ActDeps, actOnce } from './act.ts'
import { type BuildDeps, buildPage } from './build.ts'
import type { Action, Failure, TapPage } from './content.ts'
import { failureOf } from './failure.ts'
import { codeOf } from './records.ts'
import { keepable } from './reserve-state.ts'
import type { Visit } from './visit.ts'

/** The page that a mailed link leads to. */
export interface KeptPage {
  page: TapPage
  /** ISO 8601. */
  until: string
  /** Can be sent to a wallet; badges whose event has ended, say, cannot. */
  open: Action[]
  /** The last attempt was refused for this. */
  failure?: Failure
  recipient?: string
}

export type Found = { is: 'kept'; visit: Visit; until: string } | { is: 'ended' | 'unknown' }

type KeptDeps = ActDeps & BuildDeps

/** Uses nothing up, however often a mail scanner asks. @param secret of the link */
export async function findKept(deps: KeptDeps, secret: string): Promise<Found> {
  const { db, seals, clock } = deps
  const row = await findReservationByLink(db.read, { linkHash: linkHashOf(secret) })
  if (!row || row.endsAt === null) return { is: 'unknown' }
  const tap = await findTap(db.read, row.tapId)
  const codes = tap && issuedCodes(seals, { id: tap.tapId, at: tap.at }, tap.codes, 'kept')
  const isEnded = row.state === 'ended' || row.endsAt <= iso(clock.now()) || (await isOvertaken(db.read, row))
  if (!codes || isEnded || tap.isEnded || tap.disabledAt !== null) return { is: 'ended' }
  if (await endIfMoved(deps, row)) return { is: 'ended' }
  const { endsAt: until, keptAt } = row
  const visit = { tap, ref: '', links: [], codes, expiresAt: until, ...(keptAt === null ? {} : { keptAt }) }
  return { is: 'kept', until, visit }
}

export async function keptPage(
  deps: KeptDeps,
  { visit, until }: Extract<Found, { is: 'kept' }>,
): Promise<KeptPage> {
  const page = await buildPage(deps, visit, { cookies: [], query: undefined })
  return { page, until, open: keepable(page.actions) }
}

/**
 * Sends everything that is kept to a wallet, each thing once. What is refused stays kept.
 * @returns why something was refused
 */
export async function nameWallet(
  deps: KeptDeps,
  found: Extract<Found, { is: 'kept' }>,
  { recipient, actor }: { recipient: string; actor: Actor },
): Promise<DomainError | undefined> {
  const { visit } = found
  const { codes, tap } = visit
  if (!codes) return undefined
  let refusal: DomainError | undefined
  for (const action of (await keptPage(deps, found)).open) {
    const { kind, id } = action
    const code = codeOf(codes, action)
    if (code === undefined) continue
    try {
      await actOnce(deps, tap.tapId, { kind, id, recipient, deviceId: undefined, actor }, code)
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      refusal ??= error
      if (error.code === 'recipient_invalid') break
    }
  }
  return refusal
}

export const refusedName = (page: KeptPage, refusal: DomainError, recipient: string): KeptPage => ({
  ...page,
  recipient,
  // The field asks for a wallet, whatever is kept.
  failure: failureOf(refusal, { kind: 'claim', recipient }),
})
