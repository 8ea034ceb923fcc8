import { BaseError } from 'viem'
import type { Chain, Chains } from '../../chain/chains.ts'
import { checkEndpoint, type EndpointCheck } from '../../chain/check-endpoint.ts'
import { SignerProblem } from '../../chain/keys/transaction-signer.ts'
import { messageOf } from '../../chain/node-answer.ts'
import { KeyChanged, LeaseHeld, WrongChain } from '../../chain/relayer/errors.ts'
import type { SenderStatus } from '../../chain/relayer/sender.ts'
import { withoutUrls } from '../../chain/rpc-connection.ts'
import type { RpcEndpoint } from '../../chain/rpc-endpoint.ts'
import type { EndpointHealth } from '../../chain/rpc-transport.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { listTransactions } from '../../store/chain/listing.ts'
import { jammedSenders } from '../../store/chain/senders.ts'
import { queueLengths } from '../../store/chain/signer-queues.ts'
import { contractsInTrouble } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import type { ContractRow, TransactionRow } from '../../store/schema/schema.ts'

type TroubleCode = 'wrong-chain' | 'lease-held' | 'key-changed' | 'signer' | 'node' | 'stuck'

interface TroubledContract extends Pick<ContractRow, 'symbol' | 'address' | 'status'> {
  team: string
  problem: string
}

/** A chain's state, from the chain and from this daemon's records. */
interface ChainState {
  chain: Chain
  /** Set for the embedded chain, for use by others. */
  rpcUrl: string | undefined
  /** undefined: the chain does not answer. */
  head: { block: number; baseFee: bigint; balance: bigint } | undefined
  relayers: RelayerState[]
  /** Signers with unsettled transactions whose keys are not configured here. */
  missing: { signer: string; unsettled: number }[]
  /** Wei per gas; the highest fee ever offered. undefined: the embedded chain's own fee. */
  maxFeePerGas: bigint | undefined
  unsettled: number
  inFlight: number
  waiting: Readonly<Record<string, number>>
  /** `stuck` contains the transaction that cannot continue. */
  trouble: { code: TroubleCode; message: string; transactionId: number | null } | undefined
  endpoints: Endpoint[]
  signer: SignerState | undefined
  contracts: TroubledContract[]
}

/** The remote signer of a chain's relayers. */
interface SignerState {
  /** Host and port. */
  host: string
  problem: string | undefined
  /** The number of relayers that the signer had no key for. */
  missingKeys: number
}

/** @param wanted the number of relayers @param isChecked true: asks the signer now */
async function signerOf(
  { relayers }: Chain,
  wanted: number,
  isChecked: boolean,
): Promise<SignerState | undefined> {
  const signers = relayers.flatMap(({ remote }) => remote ?? [])
  const [first] = signers
  if (first === undefined) return undefined
  const problems = isChecked
    ? await Promise.all(signers.map((one) => one.check()))
    : signers.map(({ problem }) => problem)
  const problem = problems.find((one) => one !== undefined)?.message
  return { host: first.host, problem, missingKeys: Math.max(0, wanted - relayers.length) }
}

interface RelayerState {
  name: string
  address: string
  /** undefined: the chain does not answer. */
  balance: bigint | undefined
  unsettled: number
  /** Nothing is mined for it, for this reason. */
  jam: SenderStatus['jam']
}

interface Endpoint extends EndpointHealth {
  /** Undefined: not checked. */
  checks: EndpointCheck[] | undefined
}

interface Deps {
  db: Pick<Db, 'read'>
  chains: Chains
  config: {
    chains: readonly { chainId: number; maxFeePerGas: bigint }[]
    keySettings: ReadonlyMap<number, { relayers: number }>
  }
}

/**
 * Queries all chains at once. Never throws because of a chain: the error becomes part of its state.
 * @param isChecked true: also check each URL with the calls that a transfer makes
 */
export async function chainStates(
  deps: Deps,
  { ofTeam }: Pick<Actor, 'ofTeam'>,
  isChecked: boolean,
): Promise<ChainState[]> {
  const troubled = await contractsInTrouble(deps.db.read, { limit: maxContracts, teamId: ofTeam })
  return Promise.all(
    deps.chains.all.map(async (chain) => ({
      ...(await stateOf(deps, chain, ofTeam, isChecked)),
      contracts: troubled.flatMap(({ chainId, problem, ...contract }) =>
        chainId === chain.id && problem !== null ? [{ ...contract, problem }] : [],
      ),
    })),
  )
}

/** More than an operator would fix at once. */
const maxContracts = 100

async function stateOf(
  { db, chains, config }: Deps,
  chain: Chain,
  teamId: number | undefined,
  isChecked: boolean,
): Promise<Omit<ChainState, 'contracts'>> {
  const isOpen = teamId !== undefined
  const own = { teamId, chainId: chain.id, isOpen, waiting: !isOpen, limit: maxCounted }
  const [answer, open, endpoints, signer, queues, jams] = await Promise.all([
    headOf(chain),
    listTransactions(db.read, own),
    endpointsOf(chain, isChecked),
    signerOf(chain, config.keySettings.get(chain.id)?.relayers ?? 1, isChecked),
    queueLengths(db.read, chain.id, teamId),
    jammedSenders(db.read, chain.id),
  ])
  const status = chains.relayer.status().filter(({ chainId }) => chainId === chain.id)
  const sum = (count: 'unsettled' | 'inFlight') => status.reduce((all, one) => all + one[count], 0)
  const counts =
    teamId === undefined
      ? { unsettled: sum('unsettled'), inFlight: sum('inFlight') }
      : { unsettled: open.length, inFlight: open.filter(({ nonce }) => nonce !== null).length }
  const error = status.find(({ trouble }) => trouble !== undefined)?.trouble ?? answer.error
  const stuck = status.find((one) => one.stuck !== undefined)?.stuck
  return {
    chain,
    rpcUrl: chains.rpcUrls[chain.id],
    head: answer.head,
    relayers: chain.relayers.map(({ name, address }, at) => ({
      name,
      address,
      balance: answer.balances?.[at],
      unsettled: queues.get(name) ?? 0,
      jam: jams.get(address) ?? null,
    })),
    missing: [...missingSigners(chain, queues)],
    maxFeePerGas: config.chains.find(({ chainId }) => chainId === chain.id)?.maxFeePerGas,
    ...counts,
    waiting: waitingIn(open),
    trouble: troubleOf(error, stuck, teamId === undefined || open.some(({ id }) => id === stuck?.id)),
    endpoints,
    signer,
  }
}

export function* missingSigners(
  { relayers }: Chain,
  queues: ReadonlyMap<string, number>,
): Generator<{ signer: string; unsettled: number }> {
  for (const [signer, unsettled] of queues)
    if (relayers.every(({ name }) => name !== signer)) yield { signer, unsettled }
}

/** @param isShown the caller may know the transaction that is stuck */
function troubleOf(error: unknown, stuck: SenderStatus['stuck'], isShown: boolean): ChainState['trouble'] {
  const code = error === undefined ? undefined : codeOf(error)
  // Why a transaction is stuck is more useful than that the node does not answer.
  if (stuck && (code === undefined || code === 'node'))
    return {
      code: 'stuck',
      message: isShown ? describeStuck(stuck) : 'an earlier transaction, not of your team, cannot continue',
      transactionId: isShown ? stuck.id : null,
    }
  return code && { code, message: withoutUrls(messageOf(error)), transactionId: null }
}

/** Readiness is public, and a node may quote its API key in an error. */
export function describeStuck({ id, why }: NonNullable<SenderStatus['stuck']>): string {
  const words = withoutUrls(why).replace(/(?<![\w-])(?!0x)[\w-]{24,}/g, '…')
  return `transaction ${id} cannot continue: ${words.replace(/\.$/, '')}`
}

async function endpointsOf(chain: Chain, isChecked: boolean): Promise<Endpoint[]> {
  const { endpoints, id, relayer } = chain
  if (endpoints === undefined) return []
  const health = () => endpoints.health()
  if (!isChecked) return health().map((one) => ({ ...one, checks: undefined }))
  const expiryBlocks = chain.expiryBlocks().catch(() => undefined)
  const check = (one: RpcEndpoint) => checkEndpoint(one, { id, relayer, expiryBlocks })
  const [all] = await Promise.all([Promise.all(endpoints.all.map(check)), endpoints.checkHeads()])
  const isUsable = (checks: EndpointCheck[]) => checks.every(({ status }) => status !== 'fail')
  const anyUsable = all.some(isUsable)
  // One usable URL is enough.
  const judged = all.map((checks) =>
    checks.map((check) =>
      check.status === 'fail' && anyUsable ? { ...check, status: 'warn' as const } : check,
    ),
  )
  return health().map((one, index) => ({ ...one, checks: judged[index] }))
}

async function headOf({
  client,
  relayers,
  id,
}: Chain): Promise<Pick<ChainState, 'head'> & { balances?: readonly bigint[]; error?: unknown }> {
  try {
    const [actual, block, balances] = await Promise.all([
      client.getChainId(),
      client.getBlock({ blockTag: 'latest' }),
      Promise.all(relayers.map(({ address }) => client.getBalance({ address }))),
    ])
    const [balance = 0n] = balances
    if (actual !== id) return { head: undefined, error: new WrongChain(id, actual) }
    return { head: { block: Number(block.number), baseFee: block.baseFeePerGas ?? 0n, balance }, balances }
  } catch (error) {
    return { head: undefined, error: error instanceof BaseError ? error : new Error('it does not answer') }
  }
}

/** More than an operator would count. */
const maxCounted = 1000

function waitingIn(open: readonly TransactionRow[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { waiting } of open) if (waiting !== null) counts[waiting] = (counts[waiting] ?? 0) + 1
  return counts
}

function codeOf(error: unknown): TroubleCode {
  if (error instanceof WrongChain) return 'wrong-chain'
  if (error instanceof LeaseHeld) return 'lease-held'
  if (error instanceof SignerProblem) return 'signer'
  return error instanceof KeyChanged ? 'key-changed' : 'node'
}
