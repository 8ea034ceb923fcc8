import { permits } from '../../../values/scopes.ts'
import {
  allTeams,
  deleteTeam,
  type EditableTeam,
  findTeam,
  findTeamNamed,
  holdingsOfTeam,
  insertTeam,
  updateTeam,
} from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { countDeferred } from '../../store/chain/announcements.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { type Budget, spentBy } from '../chain/budget.ts'
import { alreadyExists, DomainError, inUse, notFound } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { type Brand, brandColumns, brandOf, type NewBrand } from './brand.ts'
import { assertForAllTeams, lacking, type Operator } from './grants.ts'

export type { TeamRow }

interface Deps {
  db: Db
  clock: BudgetClock
}
type ReadDeps = { db: Pick<Db, 'read'> }

interface TeamSelector {
  /** A team's name, or its ID in digits. */
  name: string | undefined
  /** The team of the caller's credential; null: all teams. Any other team does not exist for the caller. */
  teamId: number | null
  /** That team, else the team of the API key sent along. Called only if no team is named; may throw api_key_unknown. */
  keyTeam: () => number | undefined
}

/** The named team, else the credential's team, else the only team. @throws DomainError not_found, team_required */
export async function resolveTeam(deps: ReadDeps, question: TeamSelector): Promise<TeamRow> {
  const team = await namedTeam(deps, question)
  if (team) return team
  const teams = await allTeams(deps.db.read)
  const [only] = teams
  if (only && teams.length === 1) return only
  throw new DomainError(
    'team_required',
    only ? ambiguousTeam(teams) : 'There is no team yet. Create one: tapchip teams create NAME',
  )
}

/** Like `resolveTeam`, but undefined if the request names no team and therefore concerns all of them. */
export async function namedTeam(
  { db }: ReadDeps,
  { name, teamId, keyTeam }: TeamSelector,
): Promise<TeamRow | undefined> {
  if (name !== undefined && name !== '') {
    const team = (await findTeamNamed(db.read, name)) ?? (await teamNumbered(db.read, name))
    if (!team || (teamId !== null && team.id !== teamId)) throw notFound('team')
    return team
  }
  const id = keyTeam()
  return id === undefined ? undefined : findTeam(db.read, id)
}

export const teamNames = async ({ db }: ReadDeps): Promise<Map<number | null, string>> =>
  new Map((await allTeams(db.read)).map(({ id, name }) => [id, name]))

const teamNumbered = async (db: Queries, digits: string): Promise<TeamRow | undefined> =>
  /^\d{1,15}$/.test(digits) ? findTeam(db, Number(digits)) : undefined

const maxNamed = 20

function ambiguousTeam(teams: readonly TeamRow[]): string {
  const names = teams.slice(0, maxNamed).map(({ name }) => name)
  const more = teams.length - names.length
  return `There are several teams. Name one with --team NAME (\`team\` in a request): ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

/** A team with its daily limits and today's usage. */
export interface TeamView {
  id: number
  name: string
  createdAt: string
  /** `waiting`: tokens with changed metadata that will be announced when the budget allows. */
  budget: Budget & { waiting: number }
  brand: Brand
  /** Its chips have pages at /p, for everyone who has their address. */
  publicPages: boolean
}

/** @param teamId null: all teams */
export async function listTeams(
  { db, clock }: ReadDeps & { clock: BudgetClock },
  teamId: number | null,
): Promise<TeamView[]> {
  const [teams, waiting] = await Promise.all([allTeams(db.read), countDeferred(db.read)])
  return teams
    .filter(({ id }) => teamId === null || id === teamId)
    .map((team) => viewOf(team, clock.confirmedTime(), waiting.get(team.id)))
}

/** @throws DomainError not_found */
export async function showTeam(deps: ReadDeps & { clock: BudgetClock }, id: number): Promise<TeamView> {
  const [team, waiting] = await Promise.all([getTeam(deps, id), countDeferred(deps.db.read)])
  return viewOf(team, deps.clock.confirmedTime(), waiting.get(id))
}

const viewOf = (team: TeamRow, now: number, waiting = 0): TeamView => {
  const { id, name, createdAt } = team
  const budget = { ...spentBy(team, now), waiting }
  return { id, name, createdAt, budget, brand: brandOf(team), publicPages: team.publicPages === 1 }
}

export async function getTeam({ db }: ReadDeps, id: number): Promise<TeamRow> {
  const team = await findTeam(db.read, id)
  if (!team) throw notFound('team')
  return team
}

/** The team existed when the request began but may be gone by now. */
export async function assertTeamIn(trx: Queries, id: number): Promise<void> {
  if (!(await findTeam(trx, id))) throw notFound('team')
}

/** @throws DomainError already_exists */
export async function createTeam({ db, clock }: Deps, actor: Actor, name: string): Promise<TeamView> {
  const at = iso(clock.now())
  const team = await db.write(async (trx) => {
    if (await findTeamNamed(trx, name)) {
      throw alreadyExists(`A team named "${name}" already exists. Choose another name.`)
    }
    return ensureTeamIn(trx, { actor, at }, name)
  })
  return viewOf(team, clock.confirmedTime())
}

/** A step of a larger write: creates and records the team if it is missing. */
export async function ensureTeamIn(
  trx: Queries,
  { actor, at }: { actor: Actor; at: string },
  name: string,
): Promise<TeamRow> {
  const known = await findTeamNamed(trx, name)
  if (known) return known
  const team = await insertTeam(trx, name, at)
  await recordChange(trx, { at, actor, teamId: team.id, action: 'teams.create', target: name })
  return team
}

/** @throws DomainError not_found, in_use */
export async function removeTeam({ db, clock }: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const team = await findTeam(trx, id)
    if (!team) throw notFound('team')
    const holdings = await holdingsOfTeam(trx, id)
    if (holdings.length > 0) {
      throw inUse(`The team "${team.name}" still has ${holdings.join(', ')}. Remove these first.`)
    }
    await deleteTeam(trx, id)
    await recordChange(trx, { at, actor, teamId: id, action: 'teams.delete', target: team.name })
  })
}

/** Daily limits; null: the default. Absent fields stay as they are. */
type TeamEdit = { [limit in 'transactionsPerDay' | 'gasPerDay']?: number | null | undefined } & {
  brand?: NewBrand | undefined
  publicPages?: boolean | undefined
}

/** Today's usage counts against the new limits. @throws DomainError not_found, invalid_input, scope_missing */
export async function editTeam(
  { db, clock }: { db: Db; clock: BudgetClock },
  { actor, holder }: Operator,
  id: number,
  { transactionsPerDay, gasPerDay, brand = {}, publicPages }: TeamEdit,
): Promise<void> {
  if (id !== (actor.ofTeam ?? id)) throw notFound('team')
  const limits = {
    ...(transactionsPerDay === undefined ? {} : { transactionsPerDay }),
    ...(gasPerDay === undefined ? {} : { gasPerDay }),
  }
  const setsLimits = Object.keys(limits).length > 0
  const pages = publicPages === undefined ? {} : { publicPages: publicPages ? 1 : 0 }
  if (!setsLimits && publicPages === undefined && Object.values(brand).every((value) => value === undefined))
    throw new DomainError(
      'invalid_input',
      'Specify what to change: transactionsPerDay, gasPerDay, publicPages, or fields of brand.',
    )
  // Limits bind teams, and everyone with a lesser scope.
  if (setsLimits) {
    assertForAllTeams(holder, 'all')
    if (!permits(holder.scopes, 'all'))
      throw lacking(holder, ['all'], 'changing daily limits requires it. Nothing was changed')
  }
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const team = await findTeam(trx, id)
    if (!team || (holder.teamId !== null && holder.teamId !== id)) throw notFound('team')
    const changes: Partial<EditableTeam> = { ...limits, ...pages, ...brandColumns(team, brand) }
    const names = Object.keys(changes) as (keyof EditableTeam)[]
    const changed = names.filter((name) => changes[name] !== team[name])
    if (changed.length === 0) return
    await updateTeam(trx, id, changes)
    const detail = Object.fromEntries(changed.map((name) => [name, { from: team[name], to: changes[name] }]))
    await recordChange(trx, { at, actor, teamId: id, action: 'teams.edit', target: team.name, detail })
  })
}
