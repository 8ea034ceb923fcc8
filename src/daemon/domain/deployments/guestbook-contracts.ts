import type { Chain } from '../../chain/chains.ts'
import { deploymentProxy, guestbookFactory } from '../../chain/deterministic-deployment.ts'
import { findTeam } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { contractsOfTeam, findContract } from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { type KeyedRequest, subjectOf } from '../chain/transactions.ts'
import { type DeployDeps, noProxy } from '../contracts/contract-address.ts'
import { createContractIn } from '../contracts/contracts.ts'
import { notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { recordContract, recordDeployment } from './deployments.ts'

export interface TeamRequester {
  teamId: number
  actor: Actor
  idempotency: KeyedRequest | undefined
}

/**
 * The contract is pending until its deployment is confirmed. @returns the transaction, for `contractDeployedBy`
 * @throws DomainError chain_unavailable, conflict, already_exists
 */
export async function deployGuestbook(
  deps: DeployDeps,
  { teamId, actor, idempotency }: TeamRequester,
  { name, symbol, chainId }: { name: string; symbol: string; chainId: number },
): Promise<number> {
  const chain = chainOf(deps.chains, chainId)
  await assertDeployable(chain)
  const at = iso(deps.clock.now())
  const id = await deps.db.write(async (trx) => {
    const team = await findTeam(trx, teamId)
    if (!team) throw notFound('team')
    const contract = await createContractIn(trx, team, { kind: 'guestbook', name, symbol, chainId }, at)
    const transaction = await recordDeployment(trx, deps, chain, contract, chain, idempotency)
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'guestbook.deploy',
      target: symbol,
      detail: { contractId: contract.id, chainId, transaction },
    })
    return transaction
  })
  deps.chains.relayer.wake()
  return id
}

export const contractDeployedBy = async (
  deps: { db: Pick<Db, 'read'> },
  transactionId: number | null,
): Promise<number> => (await subjectOf<{ contractId: number }>(deps, transactionId)).contractId

export const listGuestbooks = async (
  { db }: { db: Pick<Db, 'read'> },
  teamId: number,
): Promise<ContractRow[]> =>
  (await contractsOfTeam(db.read, teamId)).filter(({ kind }) => kind === 'guestbook')

/**
 * Records a failed or missing deployment with everything that the contract should hold. @returns the current
 * contract
 */
export async function ensureDeploying(
  trx: Queries,
  deps: DeployDeps,
  chain: Chain,
  contractId: number,
): Promise<ContractRow> {
  const find = async () => {
    const contract = await findContract(trx, contractId)
    if (!contract) throw notFound('guestbook contract')
    return contract
  }
  const contract = await find()
  if (contract.status === 'confirmed' || contract.transactionId !== null) return contract
  await recordContract(trx, deps, chain, contract, chain)
  return find()
}

/** Without factory and proxy, a deployment would seem to succeed, since calls to an empty address do not fail. */
async function assertDeployable(chain: Chain): Promise<void> {
  const { client } = chain
  const [factory, proxy] = await readChain(chain, () =>
    Promise.all([
      client.getCode({ address: guestbookFactory }),
      client.getCode({ address: deploymentProxy }),
    ]),
  )
  if (factory !== undefined || proxy !== undefined) return
  throw noProxy(chain)
}
