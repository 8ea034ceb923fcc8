import {
  concat,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbiParameters,
  zeroAddress,
} from 'viem'
import { guestbookAbi } from '../../chain/artifacts/guestbook.ts'
import { earlierPhygitals, phygitalAbi, phygitalBytecode } from '../../chain/artifacts/phygital.ts'
import type { Chain } from '../../chain/chains.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import { findTeam } from '../../store/access/teams.ts'
import { cancelQueued } from '../../store/chain/states.ts'
import {
  contractRelayerKind,
  contractsWithoutRelayer,
  insertContractRelayer,
} from '../../store/contracts/contract-relayers.ts'
import {
  deploymentsNotSigned,
  findContract,
  findContractAt,
  undeployedContracts,
  updateContract,
} from '../../store/contracts/contracts.ts'
import type { Queries } from '../../store/database/database.ts'
import { eventsWithoutTransaction } from '../../store/guestbook/guestbook-events.ts'
import { tokensToMint } from '../../store/phygitals/tokens.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { type ChargedTo, recordForTeam } from '../chain/budget.ts'
import { settledWith } from '../chain/transactions.ts'
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
import { alreadyExists, DomainError } from '../errors/errors.ts'
import { recordMint } from '../phygitals/transfer.ts'
import { iso } from '../time/time.ts'
import { guestbookDeployment, recordEvent, recordFactory, recordResends } from './guestbook-records.ts'

// Gas limits, not the gas used. See contracts/README.md.
const phygitalGas = 3_500_000
/** Gas to store 32 bytes of a name or a URL. */
const gasOfAWord = 30_000
/** It takes 48,000. */
const gasToTellRelayer = 100_000

/** Deployments, guestbook events, a seed's mints, and changed base URLs on the embedded chain. @returns their IDs */
export async function recordMissing(deps: DeployDeps): Promise<number[]> {
  const ids: number[] = []
  for (const chain of deps.chains.all) {
    const isClosed = await lacksProxy(chain)
    const recorded = await deps.db.write(async (trx) => {
      await cancelOutdated(trx, deps, chain)
      const deployed: number[] = []
      for (const contract of await undeployedContracts(trx, chain.id)) {
        // The address shown is then final even before the proxy exists.
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
      deployed.push(...(await recordContractRelayers(trx, deps, chain)))
      return deployed
    })
    ids.push(...recorded)
  }
  if (ids.length > 0) deps.chains.relayer.wake()
  return ids
}

/** A problem with one contract must not prevent the others, or the daemon's start. */
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

/** Includes anything that an earlier, failed deployment should have held. @returns the IDs, the deployment's first */
export async function recordContract(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
  contract: ContractRow,
  counted: ChargedTo,
): Promise<number[]> {
  const ids = [await recordDeployment(trx, deps, chain, contract, counted)]
  if (contract.kind === 'phygital') return ids
  for (const event of await eventsWithoutTransaction(trx, { chainId: chain.id, contractId: contract.id }))
    ids.push(await recordEvent(trx, deps, event, counted))
  const { address } = (await findContract(trx, contract.id)) ?? contract
  return [...ids, ...(await recordResends(trx, deps, { before: contract, address }, counted))]
}

/** @returns the transaction's ID @throws DomainError already_exists if the address is taken, transaction_budget_spent */
export async function recordDeployment(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
  contract: ContractRow,
  counted: ChargedTo,
  idempotency?: KeyedRequest,
): Promise<number> {
  if (contract.kind === 'guestbook') await recordFactory(trx, deps, chain)
  const { call, address, gasHint } = await settleAddress(trx, deps, chain, contract)
  const intent = {
    chainId: chain.id,
    call,
    gasHint,
    kind: deployKind[contract.kind],
    subject: { contractId: contract.id, symbol: contract.symbol, address },
    teamId: contract.teamId,
    idempotency,
  }
  const id = await recordForTeam(trx, deps.clock, intent, counted)
  await updateContract(trx, contract.id, { transactionId: id, serviceUrl: deps.baseUrl, problem: null })
  await recordContractRelayers(trx, deps, chain)
  return id
}

/**
 * Tells contracts of ours about relayers besides the first, which owns them: one call for each, recorded once. They are
 * no arguments of a deployment, because the address would then depend on them.
 */
async function recordContractRelayers(
  trx: Queries,
  { clock }: Pick<DeployDeps, 'clock'>,
  { id: chainId, relayers }: Chain,
): Promise<number[]> {
  const ids: number[] = []
  for (const { address: relayer } of relayers.slice(1))
    for (const contract of await contractsWithoutRelayer(trx, { chainId, address: relayer })) {
      const { id: contractId, kind, symbol, address, teamId, status } = contract
      const args = [relayer, true] as const
      const data =
        kind === 'phygital'
          ? encodeFunctionData({ abi: phygitalAbi, functionName: 'setRefresher', args })
          : encodeFunctionData({ abi: guestbookAbi, functionName: 'setMinter', args })
      const intent = {
        chainId,
        call: { to: getAddress(address), data },
        // A trial run shows that the contract does not belong to the relayer any more; before it is deployed, there is none.
        ...(status === 'confirmed' ? { maxGas: gasToTellRelayer } : { gasHint: gasToTellRelayer }),
        kind: contractRelayerKind,
        subject: { symbol, address, relayer },
        teamId,
      }
      const transactionId = await recordForTeam(trx, clock, intent, 'owed')
      await insertContractRelayer(trx, { contractId, address: relayer, transactionId })
      ids.push(transactionId)
    }
  return ids
}

/** Stores the contract's address under the current settings. @throws DomainError already_exists if it is taken */
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
    throw alreadyExists(
      `This contract would get the address ${address} on chain ${chain.id}, where another is already registered.`,
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

/** Cancels unsent deployments that a change of keys or version would place elsewhere. They are recorded again. */
async function cancelOutdated(
  trx: Queries,
  deps: Omit<DeployDeps, 'db' | 'chains'>,
  chain: Chain,
): Promise<void> {
  const at = iso(deps.clock.now())
  for (const { to, data, ...contract } of await deploymentsNotSigned(trx, chain.id)) {
    // A new base URL alone changes nothing: the address has been published, and the contract can be updated.
    const recorded = { ...deps, baseUrl: contract.serviceUrl ?? deps.baseUrl }
    const { call } = await deploymentOf(trx, recorded, chain, contract)
    const id = contract.transactionId
    if (id === null || ('data' in call && call.to === to && call.data === data)) continue
    const reason =
      'the keys of its chain or the way of deploying changed before it was sent; it is recorded again'
    if (await cancelQueued(trx, { id, at, reason }))
      await settledWith(deps)(trx, { id, state: 'cancelled', at })
  }
}

/** Name, symbol, service URL, owner, sign verifier, refresher. */
const earlierArguments = parseAbiParameters('string, string, string, address, address, address')

function phygitalDeployment(baseUrl: string, chain: Chain, contract: ContractRow, salt: Hex) {
  const { relayer } = chain
  const receiver = getAddress(contract.royaltyReceiver ?? zeroAddress)
  const args = [contract.name, contract.symbol, baseUrl, relayer, chain.signVerifier.address] as const
  const current = encodeDeployData({
    abi: phygitalAbi,
    bytecode: phygitalBytecode,
    args: [...args, [relayer], receiver, BigInt(contract.royaltyBasisPoints ?? 0)],
  })
  const earlier = earlierPhygitals.map(({ bytecode }) =>
    concat([bytecode, encodeAbiParameters(earlierArguments, [...args, relayer])]),
  )
  const deploy = chain.isEmbedded ? deployByCreate3 : deployByCreate2
  // An address that an earlier version published gets that version's code, since no other has this address.
  const published = [current, ...earlier]
    .map((creation) => deploy(salt, creation))
    .find(({ address }) => address === contract.address)
  const text = `${contract.name}${contract.symbol}${baseUriOf(baseUrl, contract)}`
  const gasHint = phygitalGas + Math.ceil(Buffer.byteLength(text) / 32) * gasOfAWord
  return { ...(published ?? deploy(salt, current)), gasHint }
}
