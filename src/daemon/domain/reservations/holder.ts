import type { Chains } from '../../chain/chains.ts'
import type { Db } from '../../store/database/database.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { endReservation } from '../../store/reservations/endings.ts'
import { reservationsOfPage } from '../../store/reservations/reservations.ts'
import type { ReservationRow } from '../../store/schema/schema.ts'
import { cachedOwnerOf, ownerByChain, withinTimeout } from '../chain/read-chain.ts'
import { findOtp, type Otp, type OtpReadDeps, presentCode } from '../codes/otps.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'

interface HolderDeps {
  db: Pick<Db, 'read' | 'write'>
  chains: Chains
  clock: { now(): number }
}

/** Who owns a token by its chain; null: nobody, or the chain does not say. */
export async function holderOf(
  { db, chains }: Pick<HolderDeps, 'chains'> & { db: Pick<Db, 'read'> },
  tokenRow: number | null,
): Promise<string | null> {
  const token = tokenRow === null ? undefined : await findToken(db.read, tokenRow)
  return token ? (await ownerByChain({ chains }, token)).owner : null
}

const pageMs = { patience: 150, cached: 3000 }

/** The same for a page: it waits no longer for the chain, and may be three seconds behind it. */
async function holderOnPage(
  { db, chains }: Pick<HolderDeps, 'chains'> & { db: Pick<Db, 'read'> },
  tokenRow: number | null,
): Promise<string | null> {
  const token = tokenRow === null ? undefined : await findToken(db.read, tokenRow)
  if (!token || !chains.has(token.chainId)) return null
  const answer = cachedOwnerOf(chains.get(token.chainId), token, { forMs: pageMs.cached })
  return (await withinTimeout(answer, undefined, pageMs.patience)) ?? null
}

/**
 * Ends a reservation of a token that has another owner than when it was kept: who sold it did not sell what somebody
 * kept before. @param isShown it is only shown, so a cached answer is asked first @returns true if it has ended
 */
export async function endIfMoved(deps: HolderDeps, row: ReservationRow, isShown = false): Promise<boolean> {
  // Without a claim, it may have moved the token itself.
  if (row.state !== 'kept' || row.claims === 0 || row.holder === null) return false
  const isOther = (owner: string | null) => owner !== null && owner !== row.holder
  if (isShown && !isOther(await holderOnPage(deps, row.tokenRow))) return false
  // A cached answer may be from before it was kept.
  if (!isOther(await holderOf(deps, row.tokenRow))) return false
  await deps.db.write((trx) => endReservation(trx, row.tapId, iso(deps.clock.now())))
  return true
}

/** As `presentCode`, for a code that claims a token. @throws DomainError as there, and claim_kept */
export async function presentClaim(deps: OtpReadDeps & HolderDeps, code: string): Promise<Otp> {
  try {
    return await presentCode(deps, code, 'PHYGITAL_CLAIM')
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'claim_kept') throw error
    const otp = await findOtp(deps.db.read, deps, code)
    if (!otp) throw error
    const { chipUid: uid, tokenRow } = otp
    const key = { tapId: 0, uid, tokenRow, now: iso(deps.clock.now()) }
    const kept = await reservationsOfPage(deps.db.read, key)
    if (!(await Promise.all(kept.map((row) => endIfMoved(deps, row)))).includes(true)) throw error
    return presentCode(deps, code, 'PHYGITAL_CLAIM')
  }
}
