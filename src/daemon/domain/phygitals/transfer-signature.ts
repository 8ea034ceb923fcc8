import { getAddress } from 'viem/utils'
import { claimCounter } from '../../chain/relayer/phygital-claim.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { countedUnderWay } from '../../store/chain/intents.ts'
import { uidsOfToken } from '../../store/chips/chips.ts'
import { deleteClaimRegistrationsOf } from '../../store/phygitals/claim-registrations.ts'
import type { LocatedToken, TokenLocation } from '../../store/phygitals/tokens.ts'
import { keepSignature, signatureOf } from '../../store/taps/codes.ts'
import { endClaimsOfToken } from '../../store/taps/recorded-taps.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { resolveRecipient } from '../chain/recipients.ts'
import { findOtp, spendCode } from '../codes/otps.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import { presentClaim } from '../reservations/holder.ts'
import { iso } from '../time/time.ts'
import { checkMove } from './check-move.ts'
import { settleClaim } from './registrations.ts'
import { type SignedClaim, signClaim } from './sign-claim.ts'
import {
  chipOfCode,
  locationOf,
  resolveTarget,
  retryWhileTaken,
  settleTarget,
  type TransferDeps,
  tokenInfoOf,
  tokenOfTeam,
} from './target.ts'

export interface TransferSignature extends SignedClaim {
  token: TokenLocation
}

/** On the team's authority; the client submits it. */
export async function signTransfer(
  deps: TransferDeps,
  { teamId, actor }: { teamId: number; actor: Actor },
  { recipient: to, ...ref }: TokenLocation & { recipient: string },
): Promise<TransferSignature> {
  const token = await tokenOfTeam(deps, teamId, ref)
  const recipient = await resolveRecipient(deps, { team: teamId }, token.chainId, to)
  const signed = await sign(deps, token, recipient)
  await deps.db.write(async (trx) =>
    recordChange(trx, {
      ...record(deps, token, recipient),
      actor,
      teamId: token.teamId,
      chips: await uidsOfToken(trx, token.id),
    }),
  )
  return { ...signed, token }
}

/**
 * Signs a code's transfer and uses up the code, since the signature replaces it. A repeat with the same code and
 * recipient returns the same signature until it expires, because the first answer may have been lost.
 */
export async function signTransferByCode(
  deps: TransferDeps,
  caller: { code: string; actor: Actor },
  to: string,
): Promise<TransferSignature> {
  try {
    return await signAndSpend(deps, caller, to)
  } catch (error) {
    const isUsed = error instanceof DomainError && error.code === 'otp_used'
    const answer = isUsed ? await storedAnswer(deps, caller.code, to) : undefined
    if (!answer) throw error
    return answer
  }
}

/** The stored answer, as JSON. */
interface StoredAnswer {
  /** The recipient in the request, and the address it resolved to. */
  to: string
  recipient: string
  signature: SignedClaim['signature']
  blockExpiry: string
  token: TokenLocation
}

/** Does not resolve names: one that has moved since would turn a repeat into a refusal. */
async function storedAnswer(
  deps: TransferDeps,
  code: string,
  to: string,
): Promise<TransferSignature | undefined> {
  const { db, chains } = deps
  const otp = await findOtp(db.read, deps, code)
  const kept = otp && signatureOf(otp, code)
  if (kept === undefined) return undefined
  const answer: StoredAnswer = JSON.parse(kept)
  const asked = to.trim().toLowerCase()
  if (asked !== answer.to && asked !== answer.recipient.toLowerCase()) return undefined
  const chain = chainOf(chains, answer.token.chainId)
  const latest = await readChain(chain, () => chain.latestBlock())
  const blockExpiry = BigInt(answer.blockExpiry)
  return latest < blockExpiry ? { ...answer, blockExpiry } : undefined
}

async function signAndSpend(
  deps: TransferDeps,
  { code, actor }: { code: string; actor: Actor },
  to: string,
): Promise<TransferSignature> {
  const otp = await presentClaim(deps, code)
  const chip = await chipOfCode(deps.db, otp)
  return retryWhileTaken(async () => {
    const { target, recipient } = await resolveTarget(deps, { chip: chip.uid }, chip, to)
    const location = tokenInfoOf(target)
    // Signed before the code is used up: chain access can fail, and then the code stays valid.
    const signed = await sign(deps, location, recipient)
    const token = await deps.db.write(async (trx) => {
      const now = iso(deps.clock.now())
      await spendCode(trx, deps, code, now)
      const token = await settleTarget(trx, deps, target, true)
      await settleClaim(trx, { token, recipient, otp, now })
      await endClaimsOfToken(trx, token.id, now)
      await deleteClaimRegistrationsOf(trx, token.id)
      const chips = await uidsOfToken(trx, token.id)
      await recordChange(trx, { ...record(deps, token, recipient), actor, teamId: token.teamId, chips })
      const answer: StoredAnswer = {
        to: to.trim().toLowerCase(),
        recipient,
        signature: signed.signature,
        blockExpiry: String(signed.blockExpiry),
        token: locationOf(token),
      }
      await keepSignature(trx, code, JSON.stringify(answer))
      return token
    })
    return { ...signed, token }
  })
}

async function sign(
  deps: TransferDeps,
  token: ReturnType<typeof tokenInfoOf>,
  recipient: string,
): Promise<SignedClaim> {
  if (token.contractCalls !== null)
    throw conflict(
      `The contract ${token.contractAddress} takes no signed claims, so there is nothing to sign. Transfer the token instead: POST /phygitals/transfer. Nothing was used up.`,
    )
  const { chain } = await checkMove(deps, token, recipient)
  const counter = claimCounter(getAddress(token.contractAddress), getAddress(recipient))
  return signClaim(chain, token, recipient, await countedUnderWay(deps.db.read, chain.id, counter))
}

const record = (
  { clock }: Pick<TransferDeps, 'clock'>,
  token: Pick<LocatedToken, 'contractAddress' | 'chainId' | 'tokenId'>,
  recipient: string,
) => ({
  at: iso(clock.now()),
  action: 'phygitals.sign-transfer',
  target: `${token.contractAddress}/${token.tokenId}`,
  detail: { chainId: token.chainId, recipient },
})
