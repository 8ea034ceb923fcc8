import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { counted, grouped } from '../../io/text.ts'

export type Team = AnswerOf<'GET /admin/teams'>[number]

/** A team by its name or id. */
export const findTeam = async (ctx: CliContext, named: string): Promise<Team> => {
  const teams = await ctx.call('GET /admin/teams')
  const found = teams.find(({ id }) => String(id) === named) ?? teams.find(({ name }) => name === named)
  if (found) return found
  throw new CliError(`There is no team "${named}".`, { advice: 'Those there are: tapchip teams list' })
}

const of = (spent: number, limit: number | null): string =>
  `${grouped(spent)} of ${limit === null ? 'the usual' : grouped(limit)}`

export const fieldsOf = ({ id, name, createdAt, budget }: Team) => ({
  Id: id,
  Name: name,
  Created: createdAt,
  'Transactions today': of(budget.transactionsToday, budget.transactionsPerDay),
  'Gas today': of(budget.gasToday, budget.gasPerDay),
  ...(budget.waiting > 0
    ? { Waiting: `${counted(budget.waiting, 'announcement')} of changed metadata` }
    : {}),
})

/** In a line: `12 of 500 transactions, 2,400,000 of the usual gas`. */
export const budgetInWords = (budget: Team['budget']): string =>
  [
    `${of(budget.transactionsToday, budget.transactionsPerDay)} transactions`,
    `${of(budget.gasToday, budget.gasPerDay)} gas`,
    ...(budget.waiting > 0 ? [`${counted(budget.waiting, 'announcement')} waiting`] : []),
  ].join(', ')
