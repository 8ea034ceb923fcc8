import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { findNamed } from '../named.ts'

export type Team = AnswerOf<'GET /admin/teams'>[number]

export const findTeam = async (ctx: CliContext, named: string): Promise<Team> => {
  const by = [({ id }: Team) => id, ({ name }: Team) => name]
  return findNamed(await ctx.call('GET /admin/teams'), named, { noun: 'team', list: 'teams list', by })
}

/** Defaults of a team; the embedded chain has no limits. */
export const defaultLimits = { transactionsPerDay: 10_000, gasPerDay: 2_500_000_000 }

const of = (spent: number, limit: number | null, fallback: number): string =>
  `${formatNumber(spent)} of ${formatNumber(limit ?? fallback)}`

const free = ' (no limit on the embedded chain)'

export const fieldsOf = ({ id, name, createdAt, budget, brand }: Team) => ({
  Id: id,
  Name: name,
  Created: createdAt,
  'Transactions today': `${of(budget.transactionsToday, budget.transactionsPerDay, defaultLimits.transactionsPerDay)}${budget.transactionsPerDay === null ? free : ''}`,
  'Gas today': `${of(budget.gasToday, budget.gasPerDay, defaultLimits.gasPerDay)}${budget.gasPerDay === null ? free : ''}`,
  ...(budget.waiting > 0
    ? { Waiting: `${counted(budget.waiting, 'announcement')} of changed metadata` }
    : {}),
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
