import { ApiError } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { argument, type OptionSpec, optionalArgument, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { counted, formatNumber, shellQuoted } from '../io/text.ts'
import { findNamed } from './named.ts'

type Team = AnswerOf<'GET /admin/teams'>[number]

const findTeam = async (ctx: CliContext, named: string): Promise<Team> => {
  const by = [({ id }: Team) => id, ({ name }: Team) => name]
  return findNamed(await ctx.call('GET /admin/teams'), named, { noun: 'team', list: 'teams list', by })
}

/** Defaults of a team; the embedded chain has no limits. */
export const defaultLimits = { transactionsPerDay: 10_000, gasPerDay: 2_500_000_000 }

const of = (spent: number, limit: number | null, fallback: number): string =>
  `${formatNumber(spent)} of ${formatNumber(limit ?? fallback)}`

const free = ' (no limit on the embedded chain)'

const fieldsOf = ({ id, name, createdAt, budget, brand, publicPages }: Team) => ({
  Id: id,
  Name: name,
  Created: createdAt,
  'Transactions today': `${of(budget.transactionsToday, budget.transactionsPerDay, defaultLimits.transactionsPerDay)}${budget.transactionsPerDay === null ? free : ''}`,
  'Gas today': `${of(budget.gasToday, budget.gasPerDay, defaultLimits.gasPerDay)}${budget.gasPerDay === null ? free : ''}`,
  ...(budget.waiting > 0
    ? { Waiting: `${counted(budget.waiting, 'announcement')} of changed metadata` }
    : {}),
  'Public pages': publicPages ? 'on' : 'off',
  ...(brand.name === null ? {} : { 'Name on tap pages': brand.name }),
  ...(brand.color === null ? {} : { Colour: brand.color }),
  ...(brand.background === null ? {} : { Background: brand.background }),
  ...(brand.logoUrl === null ? {} : { Logo: brand.logoUrl }),
})

/** In one line: `12 of 500 transactions, 2,400,000 of 2,500,000,000 gas`. */
export const describeBudget = (budget: Team['budget']): string =>
  [
    `${of(budget.transactionsToday, budget.transactionsPerDay, defaultLimits.transactionsPerDay)} transactions`,
    `${of(budget.gasToday, budget.gasPerDay, defaultLimits.gasPerDay)} gas`,
    ...(budget.waiting > 0 ? [`${counted(budget.waiting, 'announcement')} waiting`] : []),
  ].join(', ')

const list = defineCommand({
  name: 'list',
  summary: 'List the teams',
  examples: ['teams list', "teams list --json | jq -r '.[].name'"],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/teams'),
      {
        ID: (team) => team.id,
        NAME: (team) => team.name,
        CREATED: (team) => team.createdAt,
        TODAY: (team) => describeBudget(team.budget),
      },
      'No teams. Create one: tapchip teams create NAME',
    )
  },
})

const show = defineCommand({
  name: 'show',
  summary: 'Show a team, and what it has sent today',
  examples: ['teams show Acme', "teams show Acme --json | jq '.budget.transactionsToday'"],
  args: { team: argument('team', 'Its name or ID', 'team') },
  run: async (ctx, { args }) => {
    await ctx.io.one(await findTeam(ctx, args.team), fieldsOf)
  },
})

const create = defineCommand({
  name: 'create',
  summary: 'Create a team',
  examples: ['teams create Acme', 'teams create --name Acme --json'],
  args: { name: optionalArgument('name', 'Its name') },
  options: { name: text('--name <name>', 'The same, as a flag') },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(args.name ?? options.name, {
      flag: '--name',
      message: 'Name of the team',
    })
    const team = await ctx.call('POST /admin/teams', { body: { name } })
    await ctx.io.one(team, (made) => ({ Id: made.id, Name: made.name, Created: made.createdAt }))
    ctx.io.hint(`Give it a key: tapchip api-keys create --name NAME --team ${shellQuoted(team.name)}`)
  },
})

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

const onOrOff = (name: string, description: string): OptionSpec<boolean | undefined> => ({
  ...text(`${name} <on|off>`, description),
  read: (raw) => {
    if (raw === undefined) return undefined
    if (raw === 'on' || raw === 'off') return raw === 'on'
    throw new UsageError(`${name} must be on or off, not "${String(raw)}".`)
  },
})

/** Problems of fields of the look, by their flags. */
const withFlags = (message: string): string =>
  message
    .replace(/(^|[\s;,])brand\.logoUrl\b/g, '$1--brand-logo')
    .replace(/(^|[\s;,])brand\.(name|color|background)\b/g, '$1--brand-$2')

const edit = defineCommand({
  name: 'edit',
  summary: 'Set how much a team may send per day, the look of its tap pages, and public pages',
  description:
    'Set how many transactions, and how much gas, a team may send per day (UTC). What it has sent today counts. Beyond the limit, ' +
    'requests are refused until midnight, and codes stay valid; changed metadata is announced later. Gas is ' +
    "counted by each transaction's limit, not by what it actually used. Without limits of its own a team may send 10,000 " +
    'transactions with 2,500,000,000 gas; on the embedded chain, as much as it likes. Limits need an admin token with the ' +
    'scope all. Everything else needs the scope edit. People who tap a chip see the name and the logo at the top, buttons in the colour, ' +
    "and the background behind everything. An empty value goes back to the page's own. A colour that cannot be seen on " +
    'the background is refused, with the nearest one that can. See it: tapchip pages preview --open. With public pages on, each piece has a page at /p with its story, ' +
    'for everyone who has the address; it gives no rights, and says nothing of the UID. chips show prints it.',
  examples: [
    'teams edit Acme --transactions-per-day 500',
    'teams edit Acme --transactions-per-day default --gas-per-day 40000000',
    "teams edit Acme --brand-name 'Acme Outdoor' --brand-color '#0b6b4f' --brand-logo https://acme.example/logo.svg",
    "teams edit Acme --brand-background ''",
    'teams edit Acme --public-pages on',
  ],
  args: { team: argument('team', 'Its name or ID', 'team') },
  options: {
    transactions: limit('--transactions-per-day', 'How many transactions, or default'),
    gas: limit('--gas-per-day', 'How much gas, or default'),
    name: text('--brand-name <name>', 'Name at the top of tap pages'),
    color: text('--brand-color <color>', 'Colour of buttons and links: #rgb or #rrggbb'),
    background: text('--brand-background <color>', 'Colour behind everything: #rgb or #rrggbb'),
    logoUrl: text('--brand-logo <url>', 'Logo at the top: an https, ipfs, or ar URL'),
    publicPages: onOrOff(
      '--public-pages',
      'Whether each piece has a page that everyone with its address sees',
    ),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { transactions, gas, publicPages, ...look } = options
    const brand = Object.entries(look).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, value === '' ? null : value] as const],
    )
    if (transactions === undefined && gas === undefined && publicPages === undefined && brand.length === 0)
      throw new UsageError(
        'Specify what to change: --transactions-per-day, --gas-per-day, --brand-name, --brand-color, --brand-background, --brand-logo, or --public-pages.',
      )
    const { id } = await findTeam(ctx, args.team)
    const edited = await ctx
      .call('PATCH /admin/teams/:id', {
        params: { id },
        body: {
          ...(transactions === undefined ? {} : { transactionsPerDay: transactions }),
          ...(gas === undefined ? {} : { gasPerDay: gas }),
          ...(publicPages === undefined ? {} : { publicPages }),
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

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an empty team',
  examples: ['teams remove Acme'],
  args: { team: argument('team', 'Its name or ID', 'team') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    // Without a terminal, nothing is looked up for a question that cannot be asked.
    const question = (name: string) => `Remove the team "${name}"? This cannot be undone.`
    await ctx.prompts.confirm(options.yes || ctx.prompts.possible, question(args.team))
    const found = await findTeam(ctx, args.team)
    await ctx.prompts.confirmByName(options.yes, question(found.name), {
      what: 'its name',
      is: (typed) => typed === found.name,
    })
    const answer = await ctx.call('DELETE /admin/teams/:id', { params: { id: found.id } })
    await ctx.io.one(answer, () => ({ Removed: found.name }))
    ctx.io.hint('See what is left: tapchip teams list')
  },
})

export const verbs = [list, show, create, edit, remove]
