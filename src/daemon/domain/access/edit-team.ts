import { type EditableTeam, findTeam, updateTeam } from '../../store/access/teams.ts'
import { recordChange } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import { DomainError, notFound, scopeMissing } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { brandColumns, type NewBrand } from './brand.ts'
import type { Operator } from './grants.ts'
import { permits } from './scopes.ts'

/** Daily limits; null: the default. Absent fields stay as they are. */
type TeamEdit = { [limit in 'transactionsPerDay' | 'gasPerDay']?: number | null | undefined } & {
  brand?: NewBrand | undefined
}

/** Today's usage counts against the new limits. @throws DomainError not_found, invalid_input, scope_missing */
export async function editTeam(
  { db, clock }: { db: Db; clock: BudgetClock },
  { actor, token }: Operator,
  id: number,
  { transactionsPerDay, gasPerDay, brand = {} }: TeamEdit,
): Promise<void> {
  const limits = {
    ...(transactionsPerDay === undefined ? {} : { transactionsPerDay }),
    ...(gasPerDay === undefined ? {} : { gasPerDay }),
  }
  const setsLimits = Object.keys(limits).length > 0
  if (!setsLimits && Object.values(brand).every((value) => value === undefined))
    throw new DomainError(
      'invalid_input',
      'Specify what to change: transactionsPerDay, gasPerDay, or fields of brand.',
    )
  // Limits bind everyone with a lesser scope.
  if (setsLimits && !permits(token.scopes, 'all'))
    throw scopeMissing(
      `The admin token "${token.name}" lacks the scope "all", which daily limits take. Nothing was changed. Use a token that has it.`,
    )
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const team = await findTeam(trx, id)
    if (!team) throw notFound('team')
    const changes: Partial<EditableTeam> = { ...limits, ...brandColumns(team, brand) }
    const names = Object.keys(changes) as (keyof EditableTeam)[]
    const changed = names.filter((name) => changes[name] !== team[name])
    if (changed.length === 0) return
    await updateTeam(trx, id, changes)
    const detail = Object.fromEntries(changed.map((name) => [name, { from: team[name], to: changes[name] }]))
    await recordChange(trx, { at, actor, teamId: id, action: 'teams.edit', target: team.name, detail })
  })
}
