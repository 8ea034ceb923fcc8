import type { Chain, Chains } from '../../chain/chains.ts'
import { acceptedRelayers } from '../../store/contracts/contract-relayers.ts'
import type { Queries } from '../../store/database/database.ts'

/**
 * The relayers of a chain that may send an intent, the best one first. Give them all for a call that anyone may send.
 * Without this, the first relayer sends it: it owns our contracts, and what depends on a call of it has to follow it.
 */
export const candidatesFor = (
  { relayer }: Pick<Chains, 'relayer'>,
  chain: Chain,
  names: readonly string[] = chain.relayers.map(({ name }) => name),
): Promise<readonly string[]> => relayer.shortestFirst(chain.id, names)

/** The relayers that a contract of ours knows, in their order: the first one, and others once it has been told. */
export async function knownRelayers(
  db: Queries,
  { relayers }: Chain,
  contractId: number,
): Promise<readonly string[]> {
  const others = relayers.length < 2 ? new Set() : await acceptedRelayers(db, contractId)
  return relayers.flatMap(({ name, address }, at) => (at === 0 || others.has(address) ? [name] : []))
}
