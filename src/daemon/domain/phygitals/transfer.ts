import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { NotSignedYet, TransactionRefused } from '../../chain/relayer/errors.ts'
import { type ClaimArgs, claimBuilder, claimCounter, claimGas } from '../../chain/relayer/phygital-claim.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findTransaction, moveKinds } from '../../store/chain/intents.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import { findChip, type TappedChip, uidsOfToken } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { deleteClaimRegistrationsOf } from '../../store/phygitals/claim-registrations.ts'
import {
  type LocatedToken,
  setMintTransaction,
  type TokenLocation,
  tokenTopic,
} from '../../store/phygitals/tokens.ts'
import { endClaimsOfToken } from '../../store/taps/recorded-taps.ts'
import { type ChargedTo, recordForTeam } from '../chain/budget.ts'
import { type Asker, resolveRecipient } from '../chain/recipients.ts'
import { subjectOf } from '../chain/transactions.ts'
import { type Otp, spendCode } from '../codes/otps.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { presentClaim } from '../reservations/holder.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { checkMove, type Move } from './check-move.ts'
import { type OwnMove, ownCall } from './own-move.ts'
import { settleClaim } from './registrations.ts'
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

export interface Requester {
  actor: Actor
  idempotency: KeyedRequest | undefined
}

/**
 * @returns the transaction, for `transferred` @throws DomainError not_found, recipient_invalid, chain_unavailable,
 * conflict, simulation_reverted, transaction_budget_spent
 */
export async function transferToken(
  deps: TransferDeps,
  { teamId, ...requester }: Requester & { teamId: number },
  { recipient: to, ...ref }: TokenLocation & { recipient: string },
): Promise<number> {
  const token = await tokenOfTeam(deps, teamId, ref)
  const recipient = await resolveRecipient(deps, { team: teamId }, token.chainId, to)
  const move = await checkMove(deps, token, recipient)
  return deps.db.write(async (trx) => {
    const current = await settleTarget(trx, deps, { token }, true)
    return record(trx, deps, { token: current, recipient, move, ...requester })
  })
}

/** Transfers a chip's token on the team's authority, minting it if the chip has none. */
export async function transferTokenOfChip(
  deps: TransferDeps,
  { teamId, ...requester }: Requester & { teamId: number },
  { uid, recipient: to }: { uid: string; recipient: string },
): Promise<number> {
  const chip = await findChip(deps.db.read, uid)
  if (!chip || chip.teamId !== teamId) throw notFound('chip')
  return moveOrMint(deps, { rateKey: { team: teamId }, chip, recipient: to, requester, authority: undefined })
}

/** Uses up the code. @throws DomainError of the code, the recipient, or a missing second tap; the code stays valid */
export async function transferByCode(
  deps: TransferDeps,
  { code, ...requester }: Requester & { code: string },
  to: string,
): Promise<number> {
  const otp = await presentClaim(deps, code)
  const chip = await chipOfCode(deps.db, otp)
  return moveOrMint(deps, {
    rateKey: { chip: chip.uid },
    chip,
    recipient: to,
    requester,
    authority: { code, otp },
  })
}

interface MoveOrMint {
  rateKey: Asker
  chip: TappedChip
  recipient: string
  requester: Requester
  /** The code to use up; undefined: on the team's authority. */
  authority: { code: string; otp: Otp } | undefined
}

const moveOrMint = (deps: TransferDeps, request: MoveOrMint): Promise<number> =>
  retryWhileTaken(() => tryMoveOrMint(deps, request))

async function tryMoveOrMint(deps: TransferDeps, request: MoveOrMint): Promise<number> {
  const { chip, requester, authority } = request
  const { target, recipient } = await resolveTarget(deps, request.rateKey, chip, request.recipient)
  const move = await checkMove(deps, tokenInfoOf(target), recipient)
  return deps.db.write(async (trx) => {
    const now = iso(deps.clock.now())
    if (authority) await spendCode(trx, deps, authority.code, now)
    else await holdChip(trx, chip.uid)
    const token = await settleTarget(trx, deps, target, false)
    if (authority) await settleClaim(trx, { token, recipient, otp: authority.otp, now })
    return record(trx, deps, { token, recipient, move, chipUid: chip.uid, ...requester })
  })
}

export async function record(
  trx: Queries,
  deps: { clock: BudgetClock; webhookEvents: WebhookEvents },
  {
    token,
    recipient,
    move,
    chipUid,
    actor,
    idempotency,
  }: Requester & {
    token: LocatedToken
    recipient: string
    move: Omit<Move, 'chain'> & { chain: ChargedTo }
    chipUid?: string
  },
): Promise<number> {
  const call = move.call === 'mintNFT' && (await isMinted(trx, token)) ? 'claimNFT' : move.call
  const { chain: counted, gas, candidates, own } = move
  const transfer = { token, recipient, call, gas, candidates, own, counted, idempotency }
  const id = await recordTransfer(trx, deps, transfer)
  const { contractAddress, chainId, tokenId, teamId } = token
  const at = iso(deps.clock.now())
  await recordChange(trx, {
    at,
    actor,
    teamId,
    action: call === 'mintNFT' ? 'phygitals.mint' : 'phygitals.transfer',
    target: `${contractAddress}/${tokenId}`,
    detail: {
      chainId,
      ...(move.owner === undefined ? {} : { owner: move.owner }),
      recipient,
      transaction: id,
    },
    chips: await uidsOfToken(trx, token.id),
  })
  const data = { ...locationOf(token), recipient, initialTxHash: null }
  await deps.webhookEvents.record(trx, {
    ...{ teamId, type: 'token.transferred', at, data, chipUid, transactionId: id },
  })
  return id
}

/** The first request mints the token; the next one transfers it, even if checked before the mint was mined. */
export async function isMinted(trx: Queries, { mintTransactionId }: LocatedToken): Promise<boolean> {
  const mint = mintTransactionId === null ? undefined : await findTransaction(trx, mintTransactionId)
  return mint !== undefined && (mint.settledAt === null || mint.state === 'confirmed')
}

/** @throws DomainError chain_unavailable (it is recorded and sent later), transaction_refused */
export async function transferred(
  { chains, db }: { chains: Chains; db: Pick<Db, 'read'> },
  transactionId: number | null,
): Promise<{ hash: string; token: TokenLocation }> {
  const token = await subjectOf<TokenLocation>({ db }, transactionId)
  return { hash: await broadcastHash(chains, transactionId), token: locationOf(token) }
}

/** Waits until a node has accepted the first attempt. @throws DomainError chain_unavailable, transaction_refused */
export async function broadcastHash(chains: Chains, transactionId: number | null): Promise<string> {
  if (transactionId === null) throw new Error('the request is a transaction')
  try {
    return await chains.relayer.broadcasted(transactionId)
  } catch (cause) {
    if (cause instanceof NotSignedYet)
      throw new DomainError('chain_unavailable', cause.message, {
        retryAfterSeconds: 10,
        transactionId,
        cause,
      })
    if (cause instanceof TransactionRefused)
      throw new DomainError(
        'transaction_refused',
        `${cause.message}. See tapchip transactions show ${transactionId}.`,
        { cause },
      )
    throw cause
  }
}

interface NewTransfer {
  token: LocatedToken
  /** EIP-55 */
  recipient: string
  call: ClaimArgs['call']
  /** The gas limit found by `checkMove`. */
  gas?: number
  candidates?: readonly string[] | undefined
  own?: OwnMove | undefined
  counted: ChargedTo
  idempotency?: KeyedRequest | undefined
}

/**
 * Ends the token's codes and registrations. @returns the transaction's ID @throws DomainError
 * transaction_budget_spent
 */
export async function recordTransfer(
  trx: Queries,
  { clock }: { clock: BudgetClock },
  { token, recipient, call, gas = claimGas, candidates, own, counted, idempotency }: NewTransfer,
): Promise<number> {
  await endClaimsOfToken(trx, token.id, iso(clock.now()))
  await deleteClaimRegistrationsOf(trx, token.id)
  const { contractAddress, chainId, tokenId, teamId } = token
  const args: ClaimArgs = {
    contract: getAddress(contractAddress),
    recipient: getAddress(recipient),
    tokenId,
    call,
  }
  const intent = {
    chainId,
    ...(own
      ? { call: await ownCall(trx, own, token, args) }
      : {
          call: { builder: claimBuilder, args },
          counter: claimCounter(args.contract, args.recipient),
          candidates,
        }),
    gasHint: gas,
    kind: moveKinds[call],
    topic: tokenTopic({ contractAddress, chainId, tokenId }),
    subject: { contractAddress, chainId, tokenId, recipient },
    teamId,
    idempotency,
  }
  const id = await recordForTeam(trx, clock, intent, counted)
  if (call === 'mintNFT') await setMintTransaction(trx, token.id, id)
  return id
}

/** Mints a token to the owner named in a seed. */
export const recordMint = (
  trx: Queries,
  deps: { clock: BudgetClock },
  token: LocatedToken,
): Promise<number> =>
  recordTransfer(trx, deps, { token, recipient: token.owner ?? '', call: 'mintNFT', counted: 'owed' })
