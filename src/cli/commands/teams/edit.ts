import { defineCommand } from '../../command/define.ts'
import { argument, type OptionSpec, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { fieldsOf, findTeam } from './team.ts'

const most = 1_000_000_000_000_000

const limit = (name: string, description: string): OptionSpec<number | null | undefined> => ({
  ...text(`${name} <n>`, description),
  read: (raw) => {
    if (raw === undefined) return undefined
    if (raw === 'default') return null
    const number = /^\d{1,16}$/.test(String(raw)) ? Number(raw) : Number.NaN
    if (number <= most) return number
    throw new UsageError(
      `${name} must be a whole number from 0 to ${most}, or default, not "${String(raw)}".`,
    )
  },
})

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set how much a team may send per day',
  description:
    'Set how many transactions, and how much gas, a team may send per day (UTC). What it has sent today counts. Beyond ' +
    'that requests are refused until midnight, and codes stay good; changed metadata is announced later. Gas counts by ' +
    'the limits of the transactions, not by what they use in the end. Without limits of its own a team may send 10,000 ' +
    'transactions with 2,500,000,000 gas; on the embedded chain, as much as it likes. Needs an admin token with the scope all.',
  examples: [
    'teams edit Acme --transactions-per-day 500',
    'teams edit Acme --transactions-per-day default --gas-per-day 40000000',
  ],
  args: { team: argument('team', 'Its name or ID', 'team') },
  options: {
    transactions: limit('--transactions-per-day', 'How many transactions, or default'),
    gas: limit('--gas-per-day', 'How much gas, or default'),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { transactions, gas } = options
    if (transactions === undefined && gas === undefined)
      throw new UsageError('Specify what to change: --transactions-per-day, --gas-per-day, or both.')
    const { id } = await findTeam(ctx, args.team)
    const edited = await ctx.call('PATCH /admin/teams/:id', {
      params: { id },
      body: {
        ...(transactions === undefined ? {} : { transactionsPerDay: transactions }),
        ...(gas === undefined ? {} : { gasPerDay: gas }),
      },
    })
    await ctx.io.one(edited, fieldsOf)
  },
})
