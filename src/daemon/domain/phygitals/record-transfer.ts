import { getAddress } from 'viem/utils'
import { type ClaimArgs, claimBuilder, claimGas } from '../../chain/relayer/phygital-claim.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import { moveKinds } from '../../store/chain/intents.ts'
import type { Queries } from '../../store/database/database.ts'
import { deleteClaimRegistrationsOf } from '../../store/phygitals/claim-registrations.ts'
import { type LocatedToken, setMintTransaction, tokenTopic } from '../../store/phygitals/tokens.ts'
import { endClaimsOfToken } from '../../store/taps/recorded-taps.ts'
import { type ChargedTo, recordForTeam } from '../chain/budget.ts'
import { type BudgetClock, iso } from '../time/time.ts'

interface NewTransfer {
  token: LocatedToken
  /** EIP-55 */
  recipient: string
  call: ClaimArgs['call']
  /** The gas limit found by `checkMove`. */
  gas?: number
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
  { token, recipient, call, gas = claimGas, counted, idempotency }: NewTransfer,
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
    call: { builder: claimBuilder, args },
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
