import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { chipsOfToken, findChip, type TappedChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import {
  findToken,
  findTokenAt,
  type LocatedToken,
  type TokenLocation,
} from '../../store/phygitals/tokens.ts'
import { type Asker, type Names, resolveRecipient } from '../chain/recipients.ts'
import type { Otp } from '../codes/otps.ts'
import type { Seals } from '../codes/seals.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { bindNewToken, type FutureToken, futureContractOf, futureTokenOf } from './mint-token.ts'

export type { TokenLocation }

/** A reference from a caller; the address in any case. */
export const asStored = (token: TokenLocation): TokenLocation => ({
  ...token,
  contractAddress: getAddress(token.contractAddress.toLowerCase()),
})

/** Copies only the location from a larger object. */
export const locationOf = ({ contractAddress, chainId, tokenId }: TokenLocation): TokenLocation => ({
  contractAddress,
  chainId,
  tokenId,
})

/** Finds the token of any team. @throws DomainError not_found */
export async function tokenAt({ db }: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<LocatedToken> {
  const token = await findTokenAt(db.read, asStored(ref))
  if (!token) throw notFound('token')
  return token
}

/** @throws DomainError not_found */
export async function tokenOfTeam(
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  ref: TokenLocation,
): Promise<LocatedToken> {
  const token = await tokenAt(deps, ref)
  if (token.teamId !== teamId) throw notFound('token')
  return token
}

/** The UID of a token's chip, preferring enabled ones. @throws DomainError not_found */
export async function chipOfToken(deps: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<string> {
  const token = await tokenAt(deps, ref)
  const chips = await chipsOfToken(deps.db.read, token.id)
  const chip = chips.find(({ disabledAt }) => disabledAt === null) ?? chips[0]
  if (!chip) throw notFound('chip')
  return chip.uid
}

export type TransferDeps = {
  db: Db
  clock: BudgetClock
  seals: Seals
  chains: Chains
  names: Names
  webhookEvents: WebhookEvents
}

/** A chip's token, or the one that it will get. */
export type Target = { token: LocatedToken } | { future: FutureToken; uid: string }

/** The recipient comes first: a wrong one costs no search. @throws DomainError not_found, recipient_invalid, conflict */
export async function resolveTarget(
  deps: TransferDeps,
  rateKey: Asker,
  chip: TappedChip,
  to: string,
): Promise<{ target: Target; recipient: string }> {
  const token = chip.tokenRow === null ? undefined : await findToken(deps.db.read, chip.tokenRow)
  if (token) return { target: { token }, recipient: await resolveRecipient(deps, rateKey, token.chainId, to) }
  const contract = await futureContractOf(deps, chip)
  const recipient = await resolveRecipient(deps, rateKey, contract.chainId, to)
  return { target: { future: await futureTokenOf(deps, contract), uid: chip.uid }, recipient }
}

/** The token of a chip. @throws DomainError not_found, conflict, chain_unavailable */
export async function targetOf(
  deps: Omit<TransferDeps, 'webhookEvents' | 'seals'>,
  chip: TappedChip,
): Promise<Target> {
  const token = chip.tokenRow === null ? undefined : await findToken(deps.db.read, chip.tokenRow)
  if (token) return { token }
  return { future: await futureTokenOf(deps, await futureContractOf(deps, chip)), uid: chip.uid }
}

export const tokenInfoOf = (target: Target) =>
  'token' in target
    ? target.token
    : {
        contractAddress: target.future.contract.address,
        chainId: target.future.contract.chainId,
        tokenId: target.future.tokenId,
        contractStatus: target.future.contract.status,
        contractTransactionId: target.future.contract.transactionId,
        contractProblem: target.future.contract.problem,
        contractIsBound: target.future.contract.isBound,
        contractCalls: target.future.contract.calls,
      }

/**
 * @param isFixed true: it must be the token found before @throws DomainError token_taken if another request was
 * faster
 */
export async function settleTarget(
  trx: Queries,
  deps: { clock: BudgetClock },
  target: Target,
  isFixed: boolean,
): Promise<LocatedToken> {
  const token =
    'token' in target
      ? await findToken(trx, target.token.id)
      : await bindNewToken(trx, deps, target.uid, target.future, isFixed)
  if (token) return token
  throw new DomainError(
    'token_taken',
    'Another request minted for this chip or took the token ID at the same moment. Nothing was used up; try again.',
  )
}

/** The chip of a code, with the token that the code controls. */
export async function chipOfCode(db: Pick<Db, 'read'>, otp: Otp): Promise<TappedChip> {
  const chip = await findChip(db.read, otp.chipUid)
  if (!chip) throw notFound('chip')
  return { ...chip, tokenRow: otp.tokenRow ?? chip.tokenRow }
}

const maxAttempts = 4

/** If a token ID was taken concurrently, nothing was used up: try again with the next one. */
export async function retryWhileTaken<T>(job: () => Promise<T>): Promise<T> {
  for (let left = maxAttempts; ; left -= 1) {
    try {
      return await job()
    } catch (error) {
      if (left <= 1 || !(error instanceof DomainError) || error.code !== 'token_taken') throw error
    }
  }
}
