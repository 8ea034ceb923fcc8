import { getAddress } from 'viem/utils'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import type { Chain } from '../../chain/chains.ts'
import { reserveIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { lastOfTopic } from '../../store/chain/intents.ts'
import type { Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import type { DeployDeps } from '../contracts/contract-address.ts'
import { ensureDeploying, type TeamRequester } from '../deployments/guestbook-contracts.ts'
import { pauseCall, pauseTopic, recordPause } from '../deployments/guestbook-records.ts'
import { iso } from '../time/time.ts'
import { assertOwner, isForeign } from './authority.ts'
import { type ContractRef, guestbookOfTeam } from './find.ts'

/**
 * Minting continues. Nothing is sent if the state is already so or will be. @returns the transaction that sets it
 * @throws DomainError not_found, chain_unavailable, conflict, transaction_budget_spent
 */
export async function setPauseState(
  deps: DeployDeps,
  { teamId, actor, idempotency }: TeamRequester,
  ref: ContractRef,
  isPaused: boolean,
): Promise<number> {
  const guestbook = await guestbookOfTeam(deps, teamId, ref)
  const chain = chainOf(deps.chains, guestbook.chainId)
  const owner = await assertOwner(chain, guestbook)
  // Our own contracts have the state that we last sent. A foreign one may have been changed by an earlier owner.
  const isAlreadySo = isForeign(guestbook) ? (await pausedBy(chain, guestbook)) === isPaused : undefined
  const now = deps.clock.now()
  return deps.db.write(async (trx) => {
    const contract = await ensureDeploying(trx, deps, chain, guestbook.id)
    const last = await lastMatchingTransaction(trx, contract, isPaused, isAlreadySo)
    if (last !== undefined) {
      if (idempotency) await reserveIdempotencyKey(trx, idempotency, last)
      return last
    }
    const id = await recordPause(trx, deps, contract, chain, { isPaused, owner, idempotency })
    const { address, chainId } = contract
    await recordChange(trx, {
      at: iso(now),
      actor,
      teamId,
      action: isPaused ? 'guestbook.pause' : 'guestbook.unpause',
      target: contract.symbol,
      detail: { contractId: contract.id, address, chainId, transaction: id },
    })
    return id
  })
}

const pausedBy = (chain: Chain, { address: at }: ContractRow): Promise<boolean> => {
  const address = getAddress(at)
  return readChain(chain, () =>
    chain.client.readContract({ abi: guestbookAbi, address, functionName: 'paused' }),
  )
}

/** The transaction that sets a guestbook's state, done or under way; undefined: one must be sent. */
async function lastMatchingTransaction(
  trx: Queries,
  contract: ContractRow,
  isPaused: boolean,
  isAlreadySo: boolean | undefined,
): Promise<number | undefined> {
  const { transactionId } = contract
  const last = await lastOfTopic(trx, pauseTopic(contract))
  // A new guestbook is not paused, by its deployment.
  if (last === undefined) return isPaused || transactionId === null ? undefined : transactionId
  const isOpen = last.settledAt === null
  // It is unknown whether a transaction that is being cancelled will take effect.
  if (last.data !== pauseCall(isPaused) || (isOpen && last.abandonedBecause !== null)) return undefined
  return isOpen || isAlreadySo !== false ? last.id : undefined
}
