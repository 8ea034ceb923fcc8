import { encodeDeployData, type Hex } from 'viem'
import { phygitalAbi, phygitalBytecode } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import type { Claim } from '../../chain/relayer/record-intent.ts'
import {
  deploymentsNotSigned,
  findContract,
  findContractAt,
  undeployedContracts,
  updateContract,
} from '../../store/contracts.ts'
import type { Queries } from '../../store/database.ts'
import { eventsWithoutTransaction } from '../../store/guestbook-events.ts'
import type { ContractRow } from '../../store/schema.ts'
import { findTeam } from '../../store/teams.ts'
import { tokensToMint } from '../../store/tokens.ts'
import { cancelQueued } from '../../store/transactions.ts'
import { type Counted, recordForTeam } from '../chain/budget.ts'
import { onSettled } from '../chain/settlements.ts'
import {
  boundSalt,
  type DeployDeps,
  deployByCreate2,
  deployByCreate3,
  guessableSalt,
  lacksProxy,
} from '../contracts/contract-address.ts'
import { deployKind } from '../contracts/deployed.ts'
import { baseUriOf, recordNewUrl } from '../contracts/service-url.ts'
import { DomainError } from '../errors.ts'
import { recordMint } from '../phygitals/record-transfer.ts'
import { iso } from '../time.ts'
import { guestbookDeployment, recordEvent, recordFactory, recordResends } from './guestbook-records.ts'

// Limits, not what is paid. See contracts/README.md.
const phygitalGas = 3_500_000
/** To store 32 bytes of a name or a URL. */
const gasOfAWord = 30_000

/**
 * Records what is still to be sent for this service's records to be true on the chains: contracts that nothing
 * deploys, events that nothing creates, tokens that a seed says somebody has, and base URLs that have changed on the
 * embedded chain. What was recorded before is not recorded again.
 * @returns the ids of transactions, for whoever waits for them
 */
export async function recordMissing(deps: DeployDeps): Promise<number[]> {
  const ids: number[] = []
  for (const chain of deps.chains.all) {
    const isClosed = await lacksProxy(chain)
    const news = await deps.db.write(async (trx) => {
      await cancelOutdated(trx, deps, chain)
      const deployed: number[] = []
      for (const contract of await undeployedContracts(trx, chain.id)) {
        // So that what is shown is true before the way is open as well.
        const record = () =>
          isClosed
            ? settleAddress(trx, deps, chain, contract)
            : recordContract(trx, deps, chain, contract, 'owed')
        deployed.push(...(await orProblem(trx, contract, record)))
      }
      for (const event of await eventsWithoutTransaction(trx, { chainId: chain.id }))
        deployed.push(await recordEvent(trx, deps, event, 'owed'))
      for (const token of await tokensToMint(trx, chain.id)) deployed.push(await recordMint(trx, deps, token))
      if (chain.isEmbedded) deployed.push(...(await recordNewUrl(trx, deps, chain)))
      return deployed
    })
    ids.push(...news)
  }
  if (ids.length > 0) deps.chains.relayer.wake()
  return ids
}

/** What keeps one contract from being recorded keeps no other from it, and no daemon from starting. */
async function orProblem(trx: Queries, { id }: ContractRow, job: () => Promise<unknown>): Promise<number[]> {
  try {
    const ids = await job()
    return Array.isArray(ids) ? ids : []
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    await updateContract(trx, id, { problem: error.message })
    return []
  }
}

/**
 * Records the deployment of a contract that nothing deploys, and with it all that the contract was to hold already:
 * its deployment may have failed before. @returns the ids, the deployment's first
 */
export async function recordContract(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
  contract: ContractRow,
  counted: Counted,
): Promise<number[]> {
  const ids = [await recordDeployment(trx, deps, chain, contract, counted)]
  if (contract.kind === 'phygital') return ids
  for (const event of await eventsWithoutTransaction(trx, { chainId: chain.id, contractId: contract.id }))
    ids.push(await recordEvent(trx, deps, event, counted))
  const { address } = (await findContract(trx, contract.id)) ?? contract
  return [...ids, ...(await recordResends(trx, deps, { before: contract, address }, counted))]
}

/**
 * Records the transaction that deploys a contract, where its record says that it will be. @returns its id
 * @throws DomainError already_exists where another contract is said to be at its address, transaction_budget_spent
 */
export async function recordDeployment(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
  contract: ContractRow,
  counted: Counted,
  idempotency?: Claim,
): Promise<number> {
  if (contract.kind === 'guestbook') await recordFactory(trx, deps, chain)
  const { deed, address, gasHint } = await settleAddress(trx, deps, chain, contract)
  const intent = {
    chainId: chain.id,
    deed,
    gasHint,
    kind: deployKind[contract.kind],
    subject: { contractId: contract.id, symbol: contract.symbol, address },
    teamId: contract.teamId,
    idempotency,
  }
  const id = await recordForTeam(trx, deps.clock, intent, counted)
  await updateContract(trx, contract.id, { transactionId: id, serviceUrl: deps.baseUrl, problem: null })
  return id
}

/**
 * Writes down where a contract will be if it is deployed with what this daemon has now. @returns how it is deployed
 * @throws DomainError already_exists where another contract is said to be there
 */
async function settleAddress(
  trx: Queries,
  deps: Pick<DeployDeps, 'instance' | 'baseUrl'>,
  chain: Chain,
  contract: ContractRow,
) {
  const deployment = await deploymentOf(trx, deps, chain, contract)
  const { address } = deployment
  const other = await findContractAt(trx, chain.id, address)
  if (other && other.id !== contract.id)
    throw new DomainError(
      'already_exists',
      `The contract ${address} on chain ${chain.id}, which this one would be, is registered already.`,
    )
  const isBound = contract.kind === 'guestbook' || !chain.isEmbedded ? 1 : 0
  await updateContract(trx, contract.id, { address, isBound })
  return deployment
}

async function deploymentOf(
  trx: Queries,
  { instance, baseUrl }: Pick<DeployDeps, 'instance' | 'baseUrl'>,
  chain: Chain,
  contract: ContractRow,
) {
  const team = await findTeam(trx, contract.teamId)
  const identity = { ...contract, team: team?.name ?? '' }
  const salt = chain.isEmbedded
    ? guessableSalt(identity)
    : boundSalt(identity, { instance, sender: chain.relayer })
  return contract.kind === 'guestbook'
    ? guestbookDeployment(baseUrl, chain, contract, salt)
    : phygitalDeployment(baseUrl, chain, contract, salt)
}

/**
 * Deployments that have not left, and that would not be ours any more, or not where we would put them today: the
 * relayer or the sign verifier is another, or an earlier version recorded them. They are recorded anew.
 */
async function cancelOutdated(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
): Promise<void> {
  const at = iso(deps.clock.now())
  for (const { to, data, ...contract } of await deploymentsNotSigned(trx, chain.id)) {
    // A new base URL alone changes nothing: the address was given out with the old one, and the contract can be told.
    const recorded = { ...deps, baseUrl: contract.serviceUrl ?? deps.baseUrl }
    const { deed } = await deploymentOf(trx, recorded, chain, contract)
    const id = contract.transactionId
    if (id === null || ('data' in deed && deed.to === to && deed.data === data)) continue
    const reason =
      'the keys of its chain, or the way of deploying, changed before it left; it is recorded anew'
    if (await cancelQueued(trx, { id, at, reason })) await onSettled(trx, { id, state: 'cancelled', at })
  }
}

function phygitalDeployment(baseUrl: string, chain: Chain, contract: ContractRow, salt: Hex) {
  const creation = encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: [contract.name, contract.symbol, baseUrl, chain.relayer, chain.signVerifier.address, chain.relayer],
  })
  const text = `${contract.name}${contract.symbol}${baseUriOf(baseUrl, contract)}`
  const gasHint = phygitalGas + Math.ceil(Buffer.byteLength(text) / 32) * gasOfAWord
  return { ...(chain.isEmbedded ? deployByCreate3 : deployByCreate2)(salt, creation), gasHint }
}
