import { type Hex, maxUint256 } from 'viem'
import type { Chain } from '../../chain/chains.ts'
import { firstFees, larger } from '../../chain/relayer/fees.ts'
import { claimSample, l1FeeOf } from './l1-fee.ts'
import { readChain } from './read-chain.ts'

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

const marketOf = (chain: Chain, cap: bigint | undefined) =>
  readChain(chain, async () => {
    const { hash, baseFeePerGas } = await chain.client.getBlock({ includeTransactions: false })
    return chain.market.at({ hash, baseFee: baseFeePerGas ?? undefined }, cap ?? maxUint256)
  })

/** The maximum fee that would be offered now. @throws DomainError chain_unavailable */
export async function feesOf(
  chain: Chain,
  cap: bigint | undefined,
): Promise<{ maxFeePerGas: bigint; isOverCap: boolean }> {
  const fees = firstFees(await marketOf(chain, cap))
  return { maxFeePerGas: fees?.maxFeePerGas ?? cap ?? 0n, isOverCap: fees === undefined }
}

/** Of a mint or transfer, the usual transaction; see contracts/README.md. */
export const typicalGas = 100_000n

/** What a transaction costs now, in wei. @throws DomainError chain_unavailable */
export async function typicalPrice(chain: Chain): Promise<bigint> {
  const { baseFee = 0n, tip } = await marketOf(chain, chain.maxFeePerGas)
  return typicalGas * (baseFee + tip) + ((await l1FeeOf(chain, claimSample())) ?? 0n)
}
