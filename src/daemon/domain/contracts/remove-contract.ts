import { type Actor, recordChange } from '../../store/audit.ts'
import { contractUses, deleteContract } from '../../store/contract-removal.ts'
import type { Db } from '../../store/database.ts'
import type { ContractRow } from '../../store/schema.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { contractIn } from './contracts.ts'

/**
 * Forgets a contract that is not one of this daemon's own on any chain, and that nothing here uses: its symbol and its
 * address are free again. @throws DomainError not_found, conflict, in_use
 */
export async function removeContract(
  { db, clock }: { db: Db; clock: Clock },
  { actor, id }: { actor: Actor; id: number },
): Promise<void> {
  await db.write(async (trx) => {
    const contract = await contractIn(trx, id)
    if (contract.transactionId !== null) throw ofOurs(contract)
    const uses = Object.entries(await contractUses(trx, id)).filter(([, count]) => count > 0)
    if (uses.length > 0)
      throw new DomainError(
        'in_use',
        `${contract.symbol} is in use: ${uses.map(([what, count]) => `${words[what]} (${count})`).join(', ')}. Take these off it first.`,
      )
    await deleteContract(trx, id)
    const { teamId, symbol, kind, name, chainId, address } = contract
    await recordChange(trx, {
      at: iso(clock.now()),
      actor,
      teamId,
      action: 'contracts.delete',
      target: symbol,
      detail: { kind, name, chainId, address },
    })
  })
}

const words: Record<string, string> = {
  chips: 'chips with its tokens',
  items: 'items that mint on it',
  events: 'events',
  assignments: 'assignments to its tokens',
  transactions: 'transactions on their way to it',
}

function ofOurs({ symbol, status, transactionId }: ContractRow): DomainError {
  return new DomainError(
    'conflict',
    status === 'pending'
      ? `${symbol} is being deployed. Cancel that first, if it has not left: tapchip transactions cancel ${transactionId}.`
      : `${symbol} was deployed from here, and is on its chain for good. Nothing was removed.`,
  )
}
