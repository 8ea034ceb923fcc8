import { BaseError } from 'viem'
import type { Chain, Chains } from '../../chain/chains.ts'
import { KeyChanged, LeaseHeld, WrongChain } from '../../chain/relayer/errors.ts'
import { wordsOf } from '../../chain/relayer/node.ts'
import { contractsInTrouble } from '../../store/contracts.ts'
import type { Db } from '../../store/database.ts'
import type { ContractRow } from '../../store/schema.ts'
import { listTransactions } from '../../store/transactions/listing.ts'

type TroubleCode = 'wrong-chain' | 'lease-held' | 'key-changed' | 'node'

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
  /** Wei per gas; the highest fee ever offered. undefined: the embedded chain's own fee. */
  maxFeePerGas: bigint | undefined
  unsettled: number
  inFlight: number
  waiting: Readonly<Record<string, number>>
  trouble: { code: TroubleCode; message: string } | undefined
  contracts: TroubledContract[]
}

interface Deps {
  db: Pick<Db, 'read'>
  chains: Chains
  config: { chains: readonly { chainId: number; maxFeePerGas: bigint }[] }
}

/** Queries all chains at once. Never throws because of a chain: the error becomes part of its state. */
export async function chainStates(deps: Deps): Promise<ChainState[]> {
  const troubled = await contractsInTrouble(deps.db.read, maxContracts)
  return Promise.all(
    deps.chains.all.map(async (chain) => ({
      ...(await stateOf(deps, chain)),
      contracts: troubled.flatMap(({ chainId, problem, ...contract }) =>
        chainId === chain.id && problem !== null ? [{ ...contract, problem }] : [],
      ),
    })),
  )
}

/** More than an operator fixes at once. */
const maxContracts = 100

async function stateOf({ db, chains, config }: Deps, chain: Chain): Promise<Omit<ChainState, 'contracts'>> {
  const [answer, waiting] = await Promise.all([headOf(chain), waitingOn(db, chain.id)])
  const status = chains.relayer.status().filter(({ chainId }) => chainId === chain.id)
  const sum = (count: 'unsettled' | 'inFlight') => status.reduce((all, one) => all + one[count], 0)
  const error = status.find(({ trouble }) => trouble !== undefined)?.trouble ?? answer.error
  return {
    chain,
    rpcUrl: chains.rpcUrls[chain.id],
    head: answer.head,
    maxFeePerGas: config.chains.find(({ chainId }) => chainId === chain.id)?.maxFeePerGas,
    unsettled: sum('unsettled'),
    inFlight: sum('inFlight'),
    waiting,
    trouble: error === undefined ? undefined : { code: codeOf(error), message: withoutUrls(wordsOf(error)) },
  }
}

async function headOf({
  client,
  relayer,
  id,
}: Chain): Promise<Pick<ChainState, 'head'> & { error?: unknown }> {
  try {
    const [actual, block, balance] = await Promise.all([
      client.getChainId(),
      client.getBlock({ blockTag: 'latest' }),
      client.getBalance({ address: relayer }),
    ])
    if (actual !== id) return { head: undefined, error: new WrongChain(id, actual) }
    return { head: { block: Number(block.number), baseFee: block.baseFeePerGas ?? 0n, balance } }
  } catch (error) {
    return { head: undefined, error: error instanceof BaseError ? error : new Error('it does not answer') }
  }
}

/** More than an operator counts. */
const maxCounted = 1000

async function waitingOn({ read }: Deps['db'], chainId: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { waiting } of await listTransactions(read, { chainId, waiting: true, limit: maxCounted }))
    if (waiting !== null) counts[waiting] = (counts[waiting] ?? 0) + 1
  return counts
}

function codeOf(error: unknown): TroubleCode {
  if (error instanceof WrongChain) return 'wrong-chain'
  if (error instanceof LeaseHeld) return 'lease-held'
  return error instanceof KeyChanged ? 'key-changed' : 'node'
}

/** RPC URLs contain keys. */
const withoutUrls = (text: string): string =>
  text.replace(/\b(https?:\/\/)(?:[^\s/@]*@)?([^\s/?#]+)\S*/g, '$1$2')
