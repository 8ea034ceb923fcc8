import { encodeFunctionData, getAddress } from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import {
  contractRelayerKind,
  contractsWithoutRelayer,
  insertContractRelayer,
} from '../../store/contracts/contract-relayers.ts'
import type { Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { recordForTeam } from '../chain/budget.ts'
import type { BudgetClock } from '../time/time.ts'

type Deps = { clock: BudgetClock }

/** A gas limit; it takes 48,000. */
const gasToTell = 100_000

/**
 * Tells contracts of ours about relayers besides the first, which owns them: one call for each, recorded once. They are
 * no arguments of a deployment, because the address would then depend on them.
 */
export async function recordContractRelayers(trx: Queries, deps: Deps, chain: Chain): Promise<number[]> {
  const ids: number[] = []
  for (const { address } of chain.relayers.slice(1))
    for (const contract of await contractsWithoutRelayer(trx, { chainId: chain.id, address }))
      ids.push(await recordContractRelayer(trx, deps, contract, address))
  return ids
}

async function recordContractRelayer(
  trx: Queries,
  { clock }: Deps,
  contract: ContractRow,
  relayer: string,
): Promise<number> {
  const { id: contractId, kind, symbol, chainId, address, teamId, status } = contract
  const args = [getAddress(relayer), true] as const
  const data =
    kind === 'phygital'
      ? encodeFunctionData({ abi: phygitalAbi, functionName: 'setRefresher', args })
      : encodeFunctionData({ abi: guestbookAbi, functionName: 'setMinter', args })
  const intent = {
    chainId,
    call: { to: getAddress(address), data },
    // A trial run shows that the contract does not belong to the relayer any more; before it is deployed, there is none.
    ...(status === 'confirmed' ? { maxGas: gasToTell } : { gasHint: gasToTell }),
    kind: contractRelayerKind,
    subject: { symbol, address, relayer },
    teamId,
  }
  const transactionId = await recordForTeam(trx, clock, intent, 'owed')
  await insertContractRelayer(trx, { contractId, address: relayer, transactionId })
  return transactionId
}
