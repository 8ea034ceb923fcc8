import { isJsonObject } from '../../../values/json.ts'
import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { isNumber, isText, orAbsent, orNull, shape } from '../journal.ts'
import { asEther, asGwei, roundedUp } from '../token.ts'

type Line = AnswerOf<'POST /phygitals/transfer/check'>
export type ChainTotals = Extract<Line, { totals: unknown }>['totals'][number]

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

/** What a plan says of the chains: prints it. @throws CliError if a relayer cannot pay */
export const showChainCosts = (ctx: CliContext, costs: object): void => {
  const { totals } = isJsonObject(costs) ? costs : {}
  const chains = Array.isArray(totals) ? totals.filter(isChainTotals) : []
  for (const chain of chains) ctx.io.note(`Chain ${chain.chainId}: ${costWords(chain)}`)
  warnOfFees(ctx, chains)
  refuseUnpayable(chains)
}

/** Refuses a batch that would stop halfway for lack of gas. @throws CliError */
export const refuseUnpayable = (totals: readonly ChainTotals[]): void => {
  const poor = totals.filter(({ canPay }) => !canPay)
  if (poor.length === 0) return
  throw new CliError(
    `${poor.map((chain) => `The relayer of chain ${chain.chainId} cannot pay for this: ${costWords(chain)}`).join('\n')}\nNothing was sent.`,
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

export const costWords = (totals: ChainTotals): string => {
  const { transactions, gas, maxFeePerGas, cost, l1Fee, relayer, balance } = totals
  const l1 = BigInt(l1Fee ?? 0)
  const withL1 = l1 === 0n ? '' : `, plus ${asEther(l1)} ether in L1 fees`
  return `${counted(transactions, 'transaction needs', 'transactions need')} ${formatNumber(Number(gas))} gas, at ${asGwei(BigInt(maxFeePerGas))} gwei at most ${asEther(BigInt(cost))} ether${withL1}; ${relayer} has ${asEther(BigInt(balance))} ether.`
}

/** Transactions wait while gas costs more than the daemon may pay. */
export const warnOfFees = (ctx: CliContext, chains: readonly ChainTotals[]): void => {
  for (const { chainId, isOverCap, l1Fee } of chains) {
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
