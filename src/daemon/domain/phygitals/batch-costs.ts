import { getAddress } from 'viem'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { storedCalls } from '../../chain/relayer/contract-call.ts'
import { larger } from '../../chain/relayer/fees.ts'
import { type ClaimArgs, claimGas } from '../../chain/relayer/phygital-claim.ts'
import { findContractAt } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { budgetLeft } from '../chain/budget.ts'
import { groupsOf } from '../chain/group-size.ts'
import { claimSample } from '../chain/l1-fee.ts'
import { type ChainTotals, priced } from '../chain/prices.ts'
import { chainOf } from '../chain/read-chain.ts'
import { notFound } from '../errors/errors.ts'
import type { BudgetClock } from '../time/time.ts'
import type { CurrentToken } from './batch-row.ts'
import { groupSize, mintManyGas } from './group-size.ts'
import { futureTokenOf } from './mint-token.ts'
import { tryOwnMove } from './own-move.ts'
import { signClaim } from './sign-claim.ts'

/** `budget` is present if the team's budget is too small. */
export interface MoveCosts {
  totals: ChainTotals[]
  budget?: RemainingBudget
}

/** A team's remaining budget for today; null: unlimited. */
interface RemainingBudget {
  transactionsLeft: number | null
  gasLeft: number | null
}

export type Pricing = { teamId: number; feeCap: (chainId: number) => bigint | undefined }

interface PricedMove {
  readonly status: string
  readonly token?: CurrentToken | undefined
  readonly recipient?: string | undefined
}

type Call = ClaimArgs['call']
interface Sample {
  token: TokenLocation
  recipient: string
}

/** Used if a contract cannot be measured: slightly more than our own contract takes. */
const typicalGas: Record<Call, bigint> = { claimNFT: 92_000n, mintNFT: 110_000n }
/** The relayer signs with this gas limit at least, and nodes require a balance for it. */
const minGasLimit = BigInt(claimGas)

interface Kind {
  contract: ContractRow
  call: Call
  count: number
  samples: Sample[]
}

/** Sums up checked transfers and estimates their cost from a few samples of each contract and kind. */
export class BatchCosts {
  readonly #deps: { db: Db; chains: Chains; clock: BudgetClock }
  readonly #inGroups: boolean
  readonly #kinds = new Map<string, Kind>()
  readonly #contracts = new Map<string, ContractRow>()
  /** The next token ID, by contract, for tokens that are yet to be minted. */
  readonly #nextIds = new Map<number, string>()
  /** @param inGroups mints share transactions, as those of a sheet do */
  constructor(deps: { db: Db; chains: Chains; clock: BudgetClock }, inGroups = false) {
    this.#deps = deps
    this.#inGroups = inGroups
  }

  /** One after another. @throws DomainError chain_unavailable */
  async add({ token, recipient, status }: PricedMove): Promise<void> {
    if ((status !== 'transfer' && status !== 'mint') || !token || recipient === undefined) return
    const contract = await this.#contractOf(token)
    const call = status === 'mint' ? 'mintNFT' : 'claimNFT'
    const key = `${contract.id}/${call}`
    const kind = this.#kinds.get(key) ?? { contract, call, count: 0, samples: [] }
    this.#kinds.set(key, kind)
    kind.count += 1
    // Samples the first, second, fourth, and so on: a transfer to an address that already holds a token is cheaper.
    if ((kind.count & (kind.count - 1)) !== 0) return
    const tokenId = token.tokenId ?? (await this.#nextId(contract))
    kind.samples.push({ token: { ...token, tokenId }, recipient })
  }

  async #contractOf({ chainId, contractAddress }: CurrentToken): Promise<ContractRow> {
    const key = `${chainId}/${contractAddress}`
    const contract =
      this.#contracts.get(key) ?? (await findContractAt(this.#deps.db.read, chainId, contractAddress))
    if (!contract) throw notFound('contract')
    this.#contracts.set(key, contract)
    return contract
  }

  async #nextId(contract: ContractRow): Promise<string> {
    const tokenId = this.#nextIds.get(contract.id) ?? (await futureTokenOf(this.#deps, contract)).tokenId
    this.#nextIds.set(contract.id, tokenId)
    return tokenId
  }

  /** @throws DomainError chain_unavailable */
  async totals({ teamId, feeCap }: Pricing): Promise<MoveCosts> {
    const kinds = [...this.#kinds.values()]
    const ids = [...new Set(kinds.map(({ contract }) => contract.chainId))].sort((a, b) => a - b)
    const chains = ids.map((id) => chainOf(this.#deps.chains, id))
    const totals = await Promise.all(chains.map((chain) => this.#ofChain(chain, feeCap(chain.id))))
    const budget = await this.#remainingBudget(
      teamId,
      chains.every(({ isEmbedded }) => isEmbedded),
    )
    return { totals, ...(budget && { budget }) }
  }

  /** @returns undefined if it is enough @throws DomainError chain_unavailable */
  async #remainingBudget(teamId: number, isFree: boolean): Promise<RemainingBudget | undefined> {
    const { db, clock } = this.#deps
    const needed = { transactions: 0, gas: 0 }
    for (const kind of this.#kinds.values()) {
      const { count, gas } = (await this.#groupsOf(kind)) ?? {
        count: kind.count,
        gas: kind.count * claimGas,
      }
      needed.transactions += count
      needed.gas += gas
    }
    const { transactions, gas } = await budgetLeft(db.read, {
      teamId,
      isFree,
      settled: clock.confirmedTime(),
    })
    const isEnough =
      (transactions === null || needed.transactions <= transactions) && (gas === null || needed.gas <= gas)
    return isEnough ? undefined : { transactionsLeft: transactions, gasLeft: gas }
  }

  /** undefined: each one is a transaction. */
  async #groupsOf({ contract, call, count }: Kind) {
    const isOurs = contract.transactionId !== null
    if (!this.#inGroups || !isOurs || call !== 'mintNFT') return undefined
    const size = await groupSize(chainOf(this.#deps.chains, contract.chainId), contract.address)
    return groupsOf(mintManyGas, count, size)
  }

  async #ofChain(chain: Chain, cap: bigint | undefined): Promise<ChainTotals> {
    const kinds = [...this.#kinds.values()].filter(({ contract }) => contract.chainId === chain.id)
    const parts = await Promise.all(kinds.map((kind) => this.#priceOf(chain, kind)))
    return priced(chain, cap, {
      transactions: parts.reduce((sum, { transactions }) => sum + transactions, 0),
      gas: parts.reduce((sum, { gas }) => sum + gas, 0n),
      gasLimit: parts.reduce((max, { largest }) => larger(max, (largest * 6n) / 5n), minGasLimit),
      data: claimSample(),
    })
  }

  async #priceOf(chain: Chain, kind: Kind) {
    const [each, groups] = await Promise.all([gasOf(chain, kind), this.#groupsOf(kind)])
    if (!groups) return { transactions: kind.count, gas: BigInt(kind.count) * each, largest: each }
    // Where a mint takes more than on most chains, so do those of a group.
    const scaled = (gas: number) => larger(BigInt(gas), (BigInt(gas) * each) / typicalGas.mintNFT)
    return { transactions: groups.count, gas: scaled(groups.gas), largest: scaled(groups.largest) }
  }
}

/** The most expensive sample. */
async function gasOf(chain: Chain, { contract, call, samples }: Kind): Promise<bigint> {
  const measured = await Promise.all(samples.map((sample) => measure(chain, contract, call, sample)))
  const largest = measured.reduce<bigint>((max, gas) => (gas !== undefined && gas > max ? gas : max), 0n)
  return largest === 0n ? typicalGas[call] : largest
}

async function measure(
  chain: Chain,
  contract: ContractRow,
  call: Call,
  { token, recipient }: Sample,
): Promise<bigint | undefined> {
  const calls = storedCalls(contract.calls)
  try {
    if (calls) {
      const owner = await ownerOf(chain.client, getAddress(token.contractAddress), BigInt(token.tokenId))
      const tried = await tryOwnMove(chain, { calls, owner }, token, recipient, call)
      return 'gas' in tried ? tried.gas : undefined
    }
    const { signature, blockExpiry } = await signClaim(chain, token, recipient, [])
    return await chain.client.estimateContractGas({
      abi: phygitalAbi,
      address: getAddress(token.contractAddress),
      functionName: call,
      args: [signature, blockExpiry, getAddress(recipient), BigInt(token.tokenId)],
      account: chain.relayer,
    })
  } catch {
    // For example, a mint under way or an empty relayer; the default applies.
    return undefined
  }
}
