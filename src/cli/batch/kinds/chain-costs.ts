import { isNumber, isText, orAbsent, orNull, shape } from '../../../values/json.ts'
import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { asEther, asGwei, roundedUp } from '../token.ts'

type Line = AnswerOf<'POST /phygitals/transfer/check'>
type Last = Extract<Line, { totals: unknown }>
type ChainTotals = Last['totals'][number]
type Budget = NonNullable<Last['budget']>

const isChainTotals = shape<ChainTotals>({
  chainId: isNumber,
  transactions: isNumber,
  gas: isText,
  maxFeePerGas: isText,
  isOverCap: (value) => typeof value === 'boolean',
  cost: isText,
  l1Fee: orAbsent(orNull(isText)),
  needed: isText,
  relayer: isText,
  balance: isText,
  canPay: (value) => typeof value === 'boolean',
})

const chainsIn = ({ totals }: { readonly totals?: unknown }): readonly ChainTotals[] =>
  Array.isArray(totals) ? totals.filter(isChainTotals) : []

/** Wei that a batch costs at most. */
export const priceOf = (costs: object): bigint =>
  chainsIn(costs).reduce((sum, { cost, l1Fee }) => sum + BigInt(cost) + BigInt(l1Fee ?? 0), 0n)

/** Prints the chain costs of a plan. @throws CliError if a relayer cannot pay */
export const showChainCosts = (ctx: CliContext, costs: object): void => {
  refuseUnpayable(chainsIn(costs))
  noteChainCosts(ctx, costs)
}

/** Like showChainCosts, for work that is accepted even if no relayer can pay yet. */
export const noteChainCosts = (ctx: CliContext, costs: object): void => {
  const chains = chainsIn(costs)
  for (const chain of chains) ctx.io.note(`Chain ${chain.chainId}: ${describeCosts(chain)}`)
  warnOfBudget(ctx, chains, costs)
  warnOfFees(ctx, chains)
}

const isBudget = shape<Budget>({ transactionsLeft: orNull(isNumber), gasLeft: orNull(isNumber) })

/** The budget stands there if it is too small: rows beyond it fail, and can be retried. */
const warnOfBudget = (
  ctx: CliContext,
  chains: readonly ChainTotals[],
  { budget }: { readonly budget?: unknown },
): void => {
  if (!isBudget(budget)) return
  const { transactionsLeft, gasLeft } = budget
  const remaining = [
    ...(transactionsLeft === null ? [] : [counted(transactionsLeft, 'transaction')]),
    ...(gasLeft === null ? [] : [`${formatNumber(gasLeft)} gas`]),
  ].join(' and ')
  const needed = chains.reduce((sum, { transactions }) => sum + transactions, 0)
  ctx.io.warn(
    `The team may send ${remaining} more today (UTC), but this needs ${counted(needed, 'transaction')}. The rows beyond the limit will fail: retry them another day (tapchip batch resume ID --retry-failed), or raise the limit (tapchip teams edit).`,
  )
}

/** Refuses a batch that would stop halfway for lack of gas. @throws CliError */
const refuseUnpayable = (totals: readonly ChainTotals[]): void => {
  const poor = totals.filter(({ canPay }) => !canPay)
  if (poor.length === 0) return
  throw new CliError(
    `${poor.map((chain) => `The relayer of chain ${chain.chainId} cannot pay for this: ${describeCosts(chain)}`).join('\n')}\nNothing was sent.`,
    {
      advice: poor
        .map(
          ({ chainId, relayer, needed, balance }) =>
            `Send at least ${asEther(roundedUp(BigInt(needed) - BigInt(balance)))} ether to ${relayer} on chain ${chainId}, and try again.`,
        )
        .join('\n'),
    },
  )
}

const describeCosts = (totals: ChainTotals): string => {
  const { transactions, gas, maxFeePerGas, cost, l1Fee, relayer, balance } = totals
  const l1 = BigInt(l1Fee ?? 0)
  const withL1 = l1 === 0n ? '' : `, plus ${asEther(l1)} ether in L1 fees`
  return `${counted(transactions, 'transaction needs', 'transactions need')} ${formatNumber(Number(gas))} gas, at ${asGwei(BigInt(maxFeePerGas))} gwei at most ${asEther(BigInt(cost))} ether${withL1}; ${relayer} has ${asEther(BigInt(balance))} ether.`
}

/** Transactions wait while gas costs more than the daemon may pay, or than the relayer has. */
const warnOfFees = (ctx: CliContext, chains: readonly ChainTotals[]): void => {
  for (const { chainId, isOverCap, l1Fee, canPay, relayer } of chains) {
    if (!canPay)
      ctx.io.warn(
        `The relayer of chain ${chainId} cannot pay for this: transactions wait until ${relayer} has more.`,
      )
    if (l1Fee === null)
      ctx.io.warn(
        `The L1 fee of chain ${chainId} cannot be read now. It comes on top of the cost: leave the relayer some more.`,
      )
    if (isOverCap)
      ctx.io.warn(
        `Gas on chain ${chainId} costs more now than TAPCHIP_MAX_FEE_GWEI_${chainId} allows: transactions wait until it is cheaper.`,
      )
  }
}
