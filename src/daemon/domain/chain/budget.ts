import type { Chain } from '../../chain/chains.ts'
import { type NewIntent, recordIntent } from '../../chain/relayer/record-intent.ts'
import { findTeam, type Limits, spendBudget } from '../../store/access/teams.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { DomainError } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'

// Each team has a daily budget (UTC) for all requests, including those by code, since the relayer pays.

/** For teams without limits of their own. The embedded chain costs nothing, so it then has no limits. */
export const defaultLimits: Limits = { transactionsPerDay: 10_000, gasPerDay: 2_500_000_000 }
const noLimits: Limits = {
  transactionsPerDay: Number.MAX_SAFE_INTEGER,
  gasPerDay: Number.MAX_SAFE_INTEGER,
}

/**
 * Transactions caused by a request count against the budget of their chain, including retries of earlier failures.
 * Those marked `owed`, which the daemon finds missing at start, such as a seed's deployments and mints, do not.
 * Neither do further attempts at the same transaction, nor the guestbook factory.
 */
export type ChargedTo = Pick<Chain, 'isEmbedded'> | 'owed'

/** A team's transaction, sent by the relayer. Give its gas limit, or `maxGas` if the limit is estimated at signing. */
type TeamIntent = Omit<NewIntent, 'now' | 'teamId'> & { teamId: number } & (
    | { gasHint: number }
    | { maxGas: number }
  )

/**
 * In one write with the team's budget. @throws DomainError transaction_budget_spent, IdempotencyKeyTaken; they undo
 * it
 */
export async function recordForTeam(
  trx: Queries,
  clock: BudgetClock,
  intent: TeamIntent,
  counted: ChargedTo,
): Promise<number> {
  if (counted !== 'owed' && !(await spendFor(trx, clock, intent, counted, 1)))
    throw await budgetSpent(trx, intent.teamId, clock.confirmedTime())
  return recordIntent(trx, { ...intent, now: clock.now() })
}

/**
 * For announcements, which can wait: they may use only half of the daily budget. @returns undefined if there is no
 * room
 */
export async function recordIfRoom(
  trx: Queries,
  clock: BudgetClock,
  intent: TeamIntent,
  chain: Pick<Chain, 'isEmbedded'>,
): Promise<number | undefined> {
  return (await spendFor(trx, clock, intent, chain, 2))
    ? recordIntent(trx, { ...intent, now: clock.now() })
    : undefined
}

/** @returns false, with nothing spent, if the budget has no room */
const spendFor = (
  trx: Queries,
  clock: BudgetClock,
  intent: TeamIntent,
  { isEmbedded }: Pick<Chain, 'isEmbedded'>,
  parts: 1 | 2,
): Promise<boolean> => {
  const gas = 'maxGas' in intent ? intent.maxGas : intent.gasHint
  const spent = { teamId: intent.teamId, day: dayOf(clock.confirmedTime()), gas: gas ?? 0, parts }
  return spendBudget(trx, spent, isEmbedded ? noLimits : defaultLimits)
}

const dayMs = 86_400_000
export const dayOf = (now: number): string => iso(now).slice(0, 10)
const secondsLeft = (now: number): number => Math.ceil((dayMs - (now % dayMs)) / 1000)

async function budgetSpent(trx: Queries, teamId: number, date: number): Promise<DomainError> {
  const team = await findTeam(trx, teamId)
  const { transactionsPerDay, gasPerDay, transactionsToday } = spentBy(team, date)
  const maxTransactions = transactionsPerDay ?? defaultLimits.transactionsPerDay
  const [words, option] =
    transactionsToday >= maxTransactions
      ? [`${maxTransactions} transactions`, '--transactions-per-day']
      : [`${gasPerDay ?? defaultLimits.gasPerDay} gas`, '--gas-per-day']
  const nothing = 'Nothing was used up: try again after 00:00 UTC'
  return new DomainError(
    'transaction_budget_spent',
    `The team "${team?.name}" may send at most ${words} per day, and this would exceed that. ${nothing}, or raise the limit: tapchip teams edit ${teamId} ${option} N`,
    {
      retryAfterSeconds: secondsLeft(date),
      forStrangers: `No more can be sent for this chip today. ${nothing}.`,
    },
  )
}

/** A team's limits (null: the default) and today's usage. */
export interface Budget {
  transactionsPerDay: number | null
  gasPerDay: number | null
  transactionsToday: number
  gasToday: number
}

export function spentBy(team: TeamRow | undefined, date: number): Budget {
  const isToday = team !== undefined && team.spentDay !== null && team.spentDay >= dayOf(date)
  return {
    transactionsPerDay: team?.transactionsPerDay ?? null,
    gasPerDay: team?.gasPerDay ?? null,
    transactionsToday: isToday ? team.spentTransactions : 0,
    gasToday: isToday ? team.spentGas : 0,
  }
}

/** A team's remaining budget for today; null: unlimited. @param isFree true if everything is on the embedded chain */
export async function budgetLeft(
  db: Queries,
  { teamId, isFree, settled: date }: { teamId: number; isFree: boolean; settled: number },
): Promise<{ transactions: number | null; gas: number | null }> {
  const { transactionsToday, gasToday, ...own } = spentBy(await findTeam(db, teamId), date)
  const left = (limit: number | null, fallback: number, spent: number) =>
    limit === null && isFree ? null : Math.max(0, (limit ?? fallback) - spent)
  return {
    transactions: left(own.transactionsPerDay, defaultLimits.transactionsPerDay, transactionsToday),
    gas: left(own.gasPerDay, defaultLimits.gasPerDay, gasToday),
  }
}
