import { ApiError } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, type OptionSpec, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { fieldsOf, findTeam } from './team.ts'

const maxLimit = 1_000_000_000_000_000

const limit = (name: string, description: string): OptionSpec<number | null | undefined> => ({
  ...text(`${name} <n>`, description),
  read: (raw) => {
    if (raw === undefined) return undefined
    if (raw === 'default') return null
    const number = /^\d{1,16}$/.test(String(raw)) ? Number(raw) : Number.NaN
    if (number <= maxLimit) return number
    throw new UsageError(
      `${name} must be a whole number from 0 to ${maxLimit}, or default, not "${String(raw)}".`,
    )
  },
})

/** Problems of fields of the look, by their flags. */
const withFlags = (message: string): string =>
  message
    .replace(/(^|[\s;,])brand\.logoUrl\b/g, '$1--brand-logo')
    .replace(/(^|[\s;,])brand\.(name|color|background)\b/g, '$1--brand-$2')

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set how much a team may send per day, and the look of its tap pages',
  description:
    'Set how many transactions, and how much gas, a team may send per day (UTC). What it has sent today counts. Beyond ' +
    'that requests are refused until midnight, and codes stay good; changed metadata is announced later. Gas counts by ' +
    'the limits of the transactions, not by what they use in the end. Without limits of its own a team may send 10,000 ' +
    'transactions with 2,500,000,000 gas; on the embedded chain, as much as it likes. Limits need an admin token with the ' +
    'scope all. The look needs edit: people who tap a chip see the name and the logo at the top, buttons in the colour, ' +
    "and the background behind everything. An empty value goes back to the page's own. A colour that cannot be seen on " +
    'the background is refused, with the nearest one that can. See it: tapchip pages preview --open',
  examples: [
    'teams edit Acme --transactions-per-day 500',
    'teams edit Acme --transactions-per-day default --gas-per-day 40000000',
    "teams edit Acme --brand-name 'Acme Outdoor' --brand-color '#0b6b4f' --brand-logo https://acme.example/logo.svg",
    "teams edit Acme --brand-background ''",
  ],
  args: { team: argument('team', 'Its name or ID', 'team') },
  options: {
    transactions: limit('--transactions-per-day', 'How many transactions, or default'),
    gas: limit('--gas-per-day', 'How much gas, or default'),
    name: text('--brand-name <name>', 'Name at the top of tap pages'),
    color: text('--brand-color <color>', 'Colour of buttons and links: #rgb or #rrggbb'),
    background: text('--brand-background <color>', 'Colour behind everything: #rgb or #rrggbb'),
    logoUrl: text('--brand-logo <url>', 'Logo at the top: an https, ipfs, or ar URL'),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { transactions, gas, ...look } = options
    const brand = Object.entries(look).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, value === '' ? null : value] as const],
    )
    if (transactions === undefined && gas === undefined && brand.length === 0)
      throw new UsageError(
        'Specify what to change: --transactions-per-day, --gas-per-day, --brand-name, --brand-color, --brand-background, or --brand-logo.',
      )
    const { id } = await findTeam(ctx, args.team)
    const edited = await ctx
      .call('PATCH /admin/teams/:id', {
        params: { id },
        body: {
          ...(transactions === undefined ? {} : { transactionsPerDay: transactions }),
          ...(gas === undefined ? {} : { gasPerDay: gas }),
          ...(brand.length === 0 ? {} : { brand: Object.fromEntries(brand) }),
        },
      })
      .catch((error: unknown) => {
        if (error instanceof ApiError) error.message = withFlags(error.message)
        throw error
      })
    await ctx.io.one(edited, fieldsOf)
  },
})
