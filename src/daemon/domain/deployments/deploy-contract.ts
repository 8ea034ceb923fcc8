import type { Chain } from '../../chain/chains.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import type { Queries } from '../../store/database/database.ts'
import type { ContractRow, TeamRow } from '../../store/schema/schema.ts'
import { assertTeamIn } from '../access/teams.ts'
import { chainOf } from '../chain/read-chain.ts'
import type { Names } from '../chain/recipients.ts'
import { type CollectionFields, collectionColumns, receiverOf } from '../contracts/collection.ts'
import { type DeployDeps, lacksProxy, noProxy } from '../contracts/contract-address.ts'
import { contractIn, createContractIn, type NewContract } from '../contracts/contracts.ts'
import { baseUriOf, recordServiceUrl } from '../contracts/service-url.ts'
import { conflict, type DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { recordDeployment } from './deployments.ts'
import { contractDeployedBy } from './guestbook-contracts.ts'

/** @returns the transaction @throws DomainError chain_unavailable, already_exists, conflict if it cannot be deployed */
export async function deployContract(
  deps: DeployDeps & { names: Names },
  { team, actor, idempotency }: { team: TeamRow; actor: Actor; idempotency: KeyedRequest | undefined },
  fields: Omit<NewContract, 'kind' | 'address' | 'collection'> & CollectionFields,
): Promise<number> {
  const chain = chainOf(deps.chains, fields.chainId)
  if (await lacksProxy(chain)) throw noProxy(chain)
  const { chainId } = fields
  const collection = collectionColumns(fields, await receiverOf(deps, { teamId: team.id, chainId }, fields))
  const at = iso(deps.clock.now())
  const id = await deps.db.write(async (trx) => {
    await assertTeamIn(trx, team.id)
    const contract = await createContractIn(trx, team, { ...fields, collection, kind: 'phygital' }, at)
    const transaction = await recordDeployment(trx, deps, chain, contract, chain, idempotency)
    const { symbol, chainId, address } = await contractIn(trx, actor, contract.id)
    const detail = { chainId, address, twoTap: fields.twoTap ?? null, ...collection, transaction }
    await recordChange(trx, {
      at,
      actor,
      teamId: team.id,
      action: 'contracts.deploy',
      target: symbol,
      detail,
    })
    return transaction
  })
  deps.chains.relayer.wake()
  return id
}

/** The contract of a deployment, with warnings. */
export async function deployedBy(
  { db, chains, baseUrl }: Pick<DeployDeps, 'db' | 'chains' | 'baseUrl'>,
  transactionId: number | null,
): Promise<{ contract: ContractRow; warnings: string[] }> {
  const contract = await contractIn(db.read, {}, await contractDeployedBy({ db }, transactionId))
  return { contract, warnings: urlWarnings(chainOf(chains, contract.chainId), baseUrl, contract.symbol) }
}

/** @returns the transaction; null: not needed @throws DomainError not_found, chain_unavailable, conflict */
export async function updateServiceUrl(
  deps: DeployDeps,
  { actor, id, force }: { actor: Actor; id: number; force: boolean },
): Promise<{ contract: ContractRow; transactionId: number | null; warnings: string[] }> {
  const { chainId } = await contractIn(deps.db.read, actor, id)
  const chain = chainOf(deps.chains, chainId)
  const update = await deps.db.write(async (trx) => {
    const contract = await contractIn(trx, actor, id)
    if (contract.transactionId === null) throw notOurs(contract, deps.baseUrl)
    const last = await lastUrl(trx, contract)
    if (last === deps.baseUrl && !force)
      return { contract: { ...contract, serviceUrl: last }, transactionId: null }
    const transactionId = await recordServiceUrl(trx, deps, contract, chain)
    await recordChange(trx, {
      at: iso(deps.clock.now()),
      actor,
      teamId: contract.teamId,
      action: 'contracts.set-url',
      target: contract.symbol,
      detail: { chainId, address: contract.address, serviceUrl: deps.baseUrl, transaction: transactionId },
    })
    return { contract: { ...contract, serviceUrl: deps.baseUrl }, transactionId }
  })
  if (update.transactionId !== null) deps.chains.relayer.wake()
  return { ...update, warnings: urlWarnings(chain, deps.baseUrl, update.contract.symbol) }
}

/** The last base URL sent to the contract, including one still under way. */
async function lastUrl(trx: Queries, { serviceUrl, urlTransactionId }: ContractRow): Promise<string | null> {
  const pending = urlTransactionId === null ? undefined : await findTransaction(trx, urlTransactionId)
  if (pending === undefined || pending.abandonedBecause !== null) return serviceUrl
  // Written by recordServiceUrl in this shape.
  const { baseUrl }: { baseUrl?: string } = JSON.parse(pending.subject)
  return baseUrl ?? serviceUrl
}

function notOurs(contract: ContractRow, baseUrl: string): DomainError {
  const { symbol, status, kind } = contract
  if (status === 'pending')
    return conflict(`${symbol} is not deployed yet. It gets its metadata URL with its deployment.`)
  const call =
    kind === 'phygital' ? `setBaseURI("${baseUriOf(baseUrl, contract)}")` : `setServiceURL("${baseUrl}", [])`
  return conflict(
    `${symbol} was not deployed from here, so its owner has to call ${call} on ${contract.address}.`,
  )
}

/** Wallets and marketplaces cannot read metadata from a local address. */
function urlWarnings(chain: Chain, baseUrl: string, symbol: string): string[] {
  const { protocol, hostname } = new URL(baseUrl)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  if (chain.isEmbedded || (protocol === 'https:' && !isLocal)) return []
  const why = isLocal ? 'is only reachable from this machine' : 'is not https'
  return [
    `The base URL ${baseUrl} ${why}, and clients look for the metadata of ${symbol} there. Start the daemon with --base-url, then: tapchip contracts set-url ${symbol}`,
  ]
}
