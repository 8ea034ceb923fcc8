import { recordChange } from '../../store/audit.ts'
import { chainOf } from '../ask-chain.ts'
import type { DeployDeps } from '../deployments.ts'
import { iso } from '../time.ts'
import { assertOwner } from './authority.ts'
import { type TeamAsking, underWay } from './contracts.ts'
import { type ContractRef, guestbookOfTeam } from './find.ts'
import { recordPause } from './record.ts'

/**
 * Pauses transfers between a guestbook's holders, or lets them go on; mints go on either way. What is so already is
 * sent once more: only the chain knows what counts by then. @returns the transaction
 * @throws DomainError not_found, chain_unavailable, conflict
 */
export async function setPauseState(
  deps: DeployDeps,
  { teamId, actor, idempotency }: TeamAsking,
  ref: ContractRef,
  isPaused: boolean,
): Promise<number> {
  const guestbook = await guestbookOfTeam(deps, teamId, ref)
  const chain = chainOf(deps.chains, guestbook.chainId)
  await assertOwner(chain, guestbook)
  return deps.db.write(async (trx) => {
    const contract = await underWay(trx, deps, chain, guestbook.id)
    const id = await recordPause(trx, deps, contract, { isPaused, idempotency })
    const { address, chainId } = contract
    await recordChange(trx, {
      at: iso(deps.clock.now()),
      actor,
      teamId,
      action: isPaused ? 'guestbook.pause' : 'guestbook.unpause',
      target: contract.symbol,
      detail: { contractId: contract.id, address, chainId, transaction: id },
    })
    return id
  })
}
