import { getAddress } from 'viem/utils'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import type { Chain } from '../../chain/chains.ts'
import { claimIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { recordChange } from '../../store/audit.ts'
import type { Queries } from '../../store/database.ts'
import type { ContractRow } from '../../store/schema.ts'
import { lastOfTopic } from '../../store/transactions.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import type { DeployDeps } from '../contracts/contract-address.ts'
import { ensureDeploying, type TeamRequester } from '../deployments/guestbook-contracts.ts'
import { pauseCall, pauseTopic, recordPause } from '../deployments/guestbook-records.ts'
import { iso } from '../time.ts'
import { assertOwner, isForeign } from './authority.ts'
import { type ContractRef, guestbookOfTeam } from './find.ts'

/**
 * Pauses transfers between a guestbook's holders, or lets them go on; mints go on either way. What is so already, or on
 * its way to be, is not sent once more. @returns the transaction that makes it so
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
  await assertOwner(chain, guestbook)
  // One of our own does what we told it last. Another may have been told by whoever owned it before.
  const isSoThere = isForeign(guestbook) ? (await pausedBy(chain, guestbook)) === isPaused : undefined
  const now = deps.clock.now()
  return deps.db.write(async (trx) => {
    const contract = await ensureDeploying(trx, deps, chain, guestbook.id)
    const last = await lastThatMakesIt(trx, contract, isPaused, isSoThere)
    if (last !== undefined) {
      if (idempotency) await claimIdempotencyKey(trx, idempotency, last)
      return last
    }
    const id = await recordPause(trx, deps, contract, chain, { isPaused, idempotency })
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

/** The transaction that a guestbook is, or will be, in a state by; undefined: one has to be sent. */
async function lastThatMakesIt(
  trx: Queries,
  contract: ContractRow,
  isPaused: boolean,
  isSoThere: boolean | undefined,
): Promise<number | undefined> {
  const { transactionId } = contract
  const last = await lastOfTopic(trx, pauseTopic(contract))
  // A new one is not paused, by what deploys it.
  if (last === undefined) return isPaused || transactionId === null ? undefined : transactionId
  const isOpen = last.settledAt === null
  // Whether one that is being cancelled has its effect, nobody knows yet.
  if (last.data !== pauseCall(isPaused) || (isOpen && last.abandonedBecause !== null)) return undefined
  return isOpen || isSoThere !== false ? last.id : undefined
}
