import { getAddress, type Hex, maxUint256 } from 'viem'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import type { ContractCalls } from '../../chain/relayer/contract-call.ts'
import { firstFees, larger } from '../../chain/relayer/fees.ts'
import { type ClaimArgs, claimGas } from '../../chain/relayer/phygital-claim.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { claimSample, l1FeeOf } from '../chain/l1-fee.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { gasOfMints, groupSize } from './group-size.ts'
import { tryOwnMove } from './own-move.ts'
import { signClaim } from './sign-claim.ts'

/** Totals of transfers on one chain, in gas and wei. */
export interface ChainTotals {
  chainId: number
  transactions: number
  gas: bigint
  maxFeePerGas: bigint
  /** The chain's fee exceeds the relayer's maximum, so transactions wait. */
  isOverCap: boolean
  /** Gas times the maximum fee. */
  cost: bigint
  /** Charged beside gas on chains of the OP stack, for all transactions; null if it cannot be read now. */
  l1Fee: bigint | null
  /** The required balance: both, but at least what a node requires to accept one transaction. */
  needed: bigint
  /** The first one. */
  relayer: string
  /** Of all relayers that can pay for a transaction. */
  balance: bigint
  canPay: boolean
}

/** Gas and wei as decimal text, which JSON keeps. */
export const totalsAsText = ({ gas, maxFeePerGas, cost, l1Fee, needed, balance, ...rest }: ChainTotals) => ({
  ...rest,
  gas: String(gas),
  maxFeePerGas: String(maxFeePerGas),
  cost: String(cost),
  l1Fee: l1Fee === 0n ? undefined : l1Fee === null ? null : String(l1Fee),
  needed: String(needed),
  balance: String(balance),
})

type Call = ClaimArgs['call']
interface Sample {
  token: TokenLocation
  calls: ContractCalls | undefined
  recipient: string
}

/** Used if a contract cannot be measured: slightly more than our own contract takes. */
const typicalGas: Record<Call, bigint> = { claimNFT: 92_000n, mintNFT: 110_000n }
/** The relayer signs with this gas limit at least, and nodes require a balance for it. */
const minGasLimit = BigInt(claimGas)

interface Kind {
  chainId: number
  contractAddress: string
  call: Call
  count: number
  samples: Sample[]
}

/** Sums up transfers and estimates their cost from a few samples of each contract and kind. */
export class Costs {
  readonly #chains: Chains
  readonly #kinds = new Map<string, Kind>()
  readonly #inGroups: boolean
  /** @param inGroups mints share transactions, as those of a sheet do */
  constructor(chains: Chains, inGroups: boolean) {
    this.#chains = chains
    this.#inGroups = inGroups
  }

  add(token: TokenLocation, recipient: string, call: Call, calls: ContractCalls | undefined): void {
    const { chainId, contractAddress } = token
    const key = `${chainId}/${contractAddress}/${call}`
    const kind = this.#kinds.get(key) ?? { chainId, contractAddress, call, count: 0, samples: [] }
    this.#kinds.set(key, kind)
    kind.count += 1
    // Samples the first, second, fourth, and so on: a transfer to an address that already holds a token is cheaper.
    if ((kind.count & (kind.count - 1)) === 0) kind.samples.push({ token, recipient, calls })
  }

  /** @throws DomainError chain_unavailable */
  totals(feeCap: (chainId: number) => bigint | undefined): Promise<ChainTotals[]> {
    const ids = [...new Set([...this.#kinds.values()].map(({ chainId }) => chainId))].sort((a, b) => a - b)
    return Promise.all(ids.map((chainId) => this.#ofChain(chainOf(this.#chains, chainId), feeCap(chainId))))
  }

  /** What counts against the team's budget. @throws DomainError chain_unavailable */
  async charged(): Promise<{ transactions: number; gas: number }> {
    const groups = await Promise.all([...this.#kinds.values()].map((kind) => this.#groupsOf(kind)))
    const counts = [...this.#kinds.values()].map(({ count }, at) => ({ count, groups: groups[at] }))
    return {
      transactions: counts.reduce((sum, { count, groups }) => sum + (groups?.count ?? count), 0),
      gas: counts.reduce((sum, { count, groups }) => sum + (groups?.gas ?? count * claimGas), 0),
    }
  }

  /** undefined: each one is a transaction. */
  async #groupsOf({ chainId, contractAddress, call, count, samples }: Kind) {
    const isOwn = samples.some(({ calls }) => calls !== undefined)
    if (!this.#inGroups || isOwn || call !== 'mintNFT' || count < 2) return undefined
    const size = await groupSize(chainOf(this.#chains, chainId), contractAddress)
    if (size < 2) return undefined
    const groups = Math.ceil(count / size)
    return { count: groups, gas: gasOfMints(count, groups), largest: gasOfMints(Math.min(count, size), 1) }
  }

  async #ofChain(chain: Chain, cap: bigint | undefined): Promise<ChainTotals> {
    const kinds = [...this.#kinds.values()].filter(({ chainId }) => chainId === chain.id)
    const parts = await Promise.all(kinds.map((kind) => this.#priceOf(chain, kind)))
    return priced(chain, cap, {
      transactions: parts.reduce((sum, { transactions }) => sum + transactions, 0),
      gas: parts.reduce((sum, { gas }) => sum + gas, 0n),
      gasLimit: parts.reduce((max, { largest }) => larger(max, (largest * 6n) / 5n), minGasLimit),
      data: claimSample(),
    })
  }

  async #priceOf(chain: Chain, kind: Kind) {
    const [each, groups] = await Promise.all([gasOf(chain, kind.call, kind.samples), this.#groupsOf(kind)])
    if (!groups) return { transactions: kind.count, gas: BigInt(kind.count) * each, largest: each }
    // Where a mint takes more than on most chains, so do those of a group.
    const scaled = (gas: number) => larger(BigInt(gas), (BigInt(gas) * each) / typicalGas.mintNFT)
    return { transactions: groups.count, gas: scaled(groups.gas), largest: scaled(groups.largest) }
  }
}

/** Transactions of one chain. The largest of them has this gas limit and call data. */
export interface ChainTransactions {
  transactions: number
  gas: bigint
  gasLimit: bigint
  data: Hex
}

/** @throws DomainError chain_unavailable */
export async function priced(
  chain: Chain,
  cap: bigint | undefined,
  { transactions, gas, gasLimit, data }: ChainTransactions,
): Promise<ChainTotals> {
  const [balances, fees, l1Each] = await Promise.all([
    balancesOf(chain),
    feesOf(chain, cap),
    l1FeeOf(chain, data),
  ])
  const cost = gas * fees.maxFeePerGas
  const l1Fee = l1Each === undefined ? null : BigInt(transactions) * l1Each
  const all = cost + (l1Fee ?? 0n)
  const minBalance = gasLimit * fees.maxFeePerGas + (l1Each ?? 0n)
  const needed = larger(all, minBalance)
  // One that cannot pay for a single transaction is passed over.
  const spendable = balances.filter((one) => one >= minBalance)
  const balance = spendable.length === 0 ? (balances[0] ?? 0n) : spendable.reduce((sum, one) => sum + one)
  return {
    chainId: chain.id,
    transactions,
    gas,
    ...fees,
    cost,
    l1Fee,
    needed,
    relayer: chain.relayer,
    balance,
    canPay: balance >= needed,
  }
}

/** Of all relayers of a chain. @throws DomainError chain_unavailable */
export const balancesOf = (chain: Chain): Promise<bigint[]> =>
  readChain(chain, () =>
    Promise.all(chain.relayers.map(({ address }) => chain.client.getBalance({ address }))),
  )

/** The most expensive sample. */
async function gasOf(chain: Chain, call: Call, samples: readonly Sample[]): Promise<bigint> {
  const measured = await Promise.all(samples.map((sample) => measure(chain, call, sample)))
  const largest = measured.reduce<bigint>((max, gas) => (gas !== undefined && gas > max ? gas : max), 0n)
  return largest === 0n ? typicalGas[call] : largest
}

async function measure(
  chain: Chain,
  call: Call,
  { token, recipient, calls }: Sample,
): Promise<bigint | undefined> {
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

/** The maximum fee that would be offered now. */
export async function feesOf(
  chain: Chain,
  cap: bigint | undefined,
): Promise<{ maxFeePerGas: bigint; isOverCap: boolean }> {
  const market = await readChain(chain, async () => {
    const { hash, baseFeePerGas } = await chain.client.getBlock({ includeTransactions: false })
    return chain.market.at({ hash, baseFee: baseFeePerGas ?? undefined }, cap ?? maxUint256)
  })
  const fees = firstFees(market)
  return { maxFeePerGas: fees?.maxFeePerGas ?? cap ?? 0n, isOverCap: fees === undefined }
}
