import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { uidsOfToken } from '../../store/chips/chips.ts'
import type { Queries } from '../../store/database/database.ts'
import {
  deleteClaimRegistration,
  findClaimRegistration,
  putClaimRegistration,
} from '../../store/phygitals/claim-registrations.ts'
import { type LocatedToken, setClaimedAt, type TokenLocation } from '../../store/phygitals/tokens.ts'
import { isLaterTap } from '../../store/taps/taps.ts'
import { chainOf } from '../chain/read-chain.ts'
import { type Asker, resolveRecipient } from '../chain/recipients.ts'
import { type Otp, spendCode } from '../codes/otps.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { presentClaim } from '../reservations/holder.ts'
import { iso } from '../time/time.ts'
import { assertUsable } from './check-move.ts'
import {
  chipOfCode,
  locationOf,
  resolveTarget,
  settleTarget,
  type TransferDeps,
  tokenAt,
  tokenInfoOf,
  tokenOfTeam,
} from './target.ts'

/** A recipient registered for a token. */
export interface ClaimRegistration {
  /** EIP-55 */
  recipient: string
  token: TokenLocation
  allowedAt: string
  expiresAt: string
  createdAt: string
}

/** Dates are null without a registration. */
type RegistrationState = Pick<ClaimRegistration, 'recipient' | 'token'> & {
  isRequired: boolean
  isValid: boolean
} & Record<'allowedAt' | 'expiresAt' | 'createdAt', string | null>

/** Seconds; for registrations on contracts without a two-tap policy. */
const windowWithoutPolicy = 3600

/** @throws DomainError not_found, recipient_invalid, chain_unavailable */
export async function claimRegistration(
  deps: TransferDeps,
  rateKey: Asker,
  { recipient: to, ...ref }: TokenLocation & { recipient: string },
): Promise<RegistrationState> {
  const token = await tokenAt(deps, ref)
  const recipient = await resolveRecipient(deps, rateKey, token.chainId, to)
  const row = await findClaimRegistration(deps.db.read, { tokenRow: token.id, recipient })
  const now = iso(deps.clock.now())
  return {
    recipient,
    token,
    isRequired: token.twoTapDelaySeconds !== null,
    isValid: row !== undefined && row.allowedAt <= now && now < row.expiresAt,
    allowedAt: row?.allowedAt ?? null,
    expiresAt: row?.expiresAt ?? null,
    createdAt: row?.createdAt ?? null,
  }
}

/** On the team's authority, without a tap. */
export async function registerClaim(
  deps: TransferDeps,
  { teamId, actor }: { teamId: number; actor: Actor },
  { recipient: to, ...ref }: TokenLocation & { recipient: string },
): Promise<ClaimRegistration> {
  const token = await tokenOfTeam(deps, teamId, ref)
  const recipient = await resolveRecipient(deps, { team: teamId }, token.chainId, to)
  await assertStillUsable(deps, token)
  return deps.db.write((trx) => register(trx, deps, { token, recipient, code: undefined, actor }))
}

/**
 * Uses up the code. A chip without a token gets the one that will be minted. @param answer stored in the same write
 * @param keepsTime a valid registration of the same recipient stays as it is, and is given to `answer`
 */
export async function registerClaimByCode<T>(
  deps: TransferDeps,
  { code, actor, keepsTime = false }: { code: string; actor: Actor; keepsTime?: boolean },
  to: string,
  answer: (trx: Queries, registration: ClaimRegistration) => Promise<T>,
): Promise<T> {
  const otp = await presentClaim(deps, code)
  const chip = await chipOfCode(deps.db, otp)
  const { target, recipient } = await resolveTarget(deps, { chip: chip.uid }, chip, to)
  await assertStillUsable(deps, tokenInfoOf(target))
  return deps.db.write(async (trx) => {
    await spendCode(trx, deps, code, iso(deps.clock.now()))
    const token = await settleTarget(trx, deps, target, false)
    return answer(trx, await register(trx, deps, { token, recipient, code: otp, actor, keepsTime }))
  })
}

/** @throws DomainError not_found */
export async function removeClaimRegistration(
  deps: TransferDeps,
  { teamId, actor }: { teamId: number; actor: Actor },
  { recipient: to, ...ref }: TokenLocation & { recipient: string },
): Promise<void> {
  const token = await tokenOfTeam(deps, teamId, ref)
  const recipient = await resolveRecipient(deps, { team: teamId }, token.chainId, to)
  await deps.db.write(async (trx) => {
    if (!(await deleteClaimRegistration(trx, { tokenRow: token.id, recipient })))
      throw notFound('claim registration')
    await audit(trx, {
      token,
      recipient,
      actor,
      action: 'claim-registrations.delete',
      at: iso(deps.clock.now()),
    })
  })
}

/** The contract may be pending but must have no known problem. */
const assertStillUsable = async (
  { chains }: Pick<TransferDeps, 'chains'>,
  token: ReturnType<typeof tokenInfoOf>,
): Promise<void> => {
  if (token.contractProblem !== null) await assertUsable(chainOf(chains, token.chainId), token)
}

async function register(
  trx: Queries,
  { clock, webhookEvents }: Pick<TransferDeps, 'clock' | 'webhookEvents'>,
  {
    token,
    recipient,
    code,
    actor,
    keepsTime = false,
  }: { token: LocatedToken; recipient: string; code: Otp | undefined; actor: Actor; keepsTime?: boolean },
): Promise<ClaimRegistration> {
  const now = clock.now()
  const allowed = now + (token.twoTapDelaySeconds ?? 0) * 1000
  const dates = {
    allowedAt: iso(allowed),
    expiresAt: iso(allowed + (token.twoTapWindowSeconds ?? windowWithoutPolicy) * 1000),
    createdAt: iso(now),
  }
  const row = { tokenRow: token.id, recipient, tapId: code?.tapId ?? null, ...dates }
  if (!(await putClaimRegistration(trx, row, { keepsValid: keepsTime }))) {
    const kept = await findClaimRegistration(trx, { tokenRow: token.id, recipient })
    if (kept) return { ...kept, token }
    // The team withdrew it in between.
    await putClaimRegistration(trx, row, { keepsValid: false })
  }
  await audit(trx, { token, recipient, actor, action: 'claim-registrations.create', at: dates.createdAt })
  const { allowedAt, expiresAt, createdAt: at } = dates
  await webhookEvents.record(trx, {
    teamId: token.teamId,
    type: 'claim.registered',
    at,
    data: { ...locationOf(token), recipient, allowedAt, expiresAt },
    chipUid: code?.chipUid,
  })
  return { recipient, token, ...dates }
}

const audit = async (
  trx: Queries,
  of: { token: LocatedToken; recipient: string; actor: Actor; action: string; at: string },
): Promise<unknown> =>
  recordChange(trx, {
    at: of.at,
    actor: of.actor,
    teamId: of.token.teamId,
    action: of.action,
    target: `${of.token.contractAddress}/${of.token.tokenId}`,
    detail: { chainId: of.token.chainId, recipient: of.recipient },
    chips: await uidsOfToken(trx, of.token.id),
  })

/**
 * Enforces the two-tap policy: the recipient must have registered with an earlier tap, within the allowed time.
 * Called within the write. @throws DomainError registration_missing, registration_same_tap, registration_early,
 * registration_expired
 */
async function assertSecondTap(
  trx: Queries,
  { token, recipient, otp, now }: { token: LocatedToken; recipient: string; otp: Otp; now: string },
): Promise<void> {
  if (token.twoTapDelaySeconds === null) return
  const row = await findClaimRegistration(trx, { tokenRow: token.id, recipient })
  const stillGood = 'This code is still good.'
  if (!row)
    throw new DomainError(
      'registration_missing',
      `This token asks for two taps: register ${recipient} with this code first (POST /phygitals/claim-registration/pullable), then tap again. ${stillGood}`,
    )
  if (now >= row.expiresAt)
    throw new DomainError(
      'registration_expired',
      `The registration of ${recipient} expired at ${row.expiresAt}. Register again, then tap again. ${stillGood}`,
    )
  if (row.tapId !== null && !(await isLaterTap(trx, otp.tapId, row.tapId)))
    throw new DomainError(
      'registration_same_tap',
      `This code is from the tap that registered ${recipient}, or from an earlier one. Tap the chip again for the second code. ${stillGood}`,
    )
  if (now < row.allowedAt)
    throw new DomainError(
      'registration_early',
      `The registration of ${recipient} becomes valid at ${row.allowedAt}. Wait until then. ${stillGood}`,
    )
}

/** A code claims the token, within the write. @throws DomainError as assertSecondTap */
export async function settleClaim(
  trx: Queries,
  claim: { token: LocatedToken; recipient: string; otp: Otp; now: string },
): Promise<void> {
  await assertSecondTap(trx, claim)
  await setClaimedAt(trx, claim.token.id, claim.now)
}
