import type { Logger } from 'pino'
import type { Chains } from '../../chain/chains.ts'
import { deployedContracts, updateContract } from '../../store/contracts.ts'
import type { Db } from '../../store/database.ts'
import { whyNotOurs } from './deployed.ts'

/**
 * Looks once at every contract that was deployed from here on chains that others run, and writes down what is wrong
 * with it: an earlier version believed a deployment that was mined. A chain that does not answer is left for the next
 * start; what is sent to a contract is checked then and there besides.
 */
export async function lookAfterContracts(
  { db, chains, log }: { db: Db; chains: Chains; log: Pick<Logger, 'error'> },
  stopped?: AbortSignal,
): Promise<void> {
  await Promise.all(
    chains.all.map(async (chain) => {
      if (chain.isEmbedded) return
      for (const contract of await deployedContracts(db.read, chain.id)) {
        const { id, symbol, address, kind, isBound } = contract
        let problem: string | null
        try {
          const owner = kind === 'phygital' && isBound === 0
          problem = (await whyNotOurs(chain, contract, { owner })) ?? null
        } catch {
          return
        }
        if (stopped?.aborted) return
        if (problem !== null)
          log.error(
            { chainId: chain.id, symbol, address, problem },
            'a contract is not the one that was deployed',
          )
        if (problem !== contract.problem) await db.write((trx) => updateContract(trx, id, { problem }))
      }
    }),
  )
}
