import type { Actor } from '../store/audit.ts'
import { recordChange } from '../store/audit.ts'
import type { Db, Queries } from '../store/database.ts'
import type { TeamRow } from '../store/schema.ts'
import { allTeams, deleteTeam, findTeam, findTeamNamed, holdingsOfTeam, insertTeam } from '../store/teams.ts'
import { DomainError, notFound } from './errors.ts'
import { type Clock, iso } from './time.ts'

interface Deps {
  db: Db
  clock: Clock
}
type Reading = { db: Pick<Db, 'read'> }

export interface TeamQuestion {
  /** What the caller named: a team's name, or its id in digits. */
  name: string | undefined
  /** The team of the API key that came along; asked where no team is named, and may throw api_key_unknown. */
  keyTeam: () => number | undefined
}

/**
 * The team that a request is about: the one it names, else its API key's, else the only one there is.
 * @throws DomainError not_found, team_required
 */
export async function resolveTeam(deps: Reading, question: TeamQuestion): Promise<TeamRow> {
  const team = await namedTeam(deps, question)
  if (team) return team
  const teams = await allTeams(deps.db.read)
  const [only] = teams
  if (only && teams.length === 1) return only
  throw new DomainError(
    'team_required',
    only ? whichTeam(teams) : 'There is no team yet. Create one: tapchip teams create NAME',
  )
}

/** As `resolveTeam`, but undefined where the request names no team: it is about all of them. */
export async function namedTeam(
  { db }: Reading,
  { name, keyTeam }: TeamQuestion,
): Promise<TeamRow | undefined> {
  if (name !== undefined && name !== '') {
    const team = (await findTeamNamed(db.read, name)) ?? (await teamNumbered(db.read, name))
    if (!team) throw notFound('team')
    return team
  }
  const id = keyTeam()
  return id === undefined ? undefined : findTeam(db.read, id)
}

const teamNumbered = async (db: Queries, digits: string): Promise<TeamRow | undefined> =>
  /^\d{1,15}$/.test(digits) ? findTeam(db, Number(digits)) : undefined

const namedAtMost = 20

function whichTeam(teams: readonly TeamRow[]): string {
  const names = teams.slice(0, namedAtMost).map(({ name }) => name)
  const more = teams.length - names.length
  return `There are several teams: say which with --team NAME (\`team\` in a request), one of ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

export const listTeams = ({ db }: Reading): Promise<TeamRow[]> => allTeams(db.read)

/** @throws DomainError not_found */
export async function getTeam({ db }: Reading, id: number): Promise<TeamRow> {
  const team = await findTeam(db.read, id)
  if (!team) throw notFound('team')
  return team
}

/** Holds on to a team for the rest of a write: it was there when the request began, and may have gone since. */
export async function assertTeamIn(trx: Queries, id: number): Promise<void> {
  if (!(await findTeam(trx, id))) throw notFound('team')
}

/** @throws DomainError already_exists */
export function createTeam({ db, clock }: Deps, actor: Actor, name: string): Promise<TeamRow> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    if (await findTeamNamed(trx, name)) {
      throw new DomainError('already_exists', `There is a team named "${name}" already. Choose another name.`)
    }
    const team = await insertTeam(trx, name, at)
    await recordChange(trx, { at, actor, teamId: team.id, action: 'teams.create', target: name })
    return team
  })
}

/** Removes a team that holds nothing any more. @throws DomainError not_found, in_use */
export async function removeTeam({ db, clock }: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const team = await findTeam(trx, id)
    if (!team) throw notFound('team')
    const held = await holdingsOfTeam(trx, id)
    if (held.length > 0) {
      throw new DomainError(
        'in_use',
        `The team "${team.name}" still has ${held.join(', ')}. Remove these first.`,
      )
    }
    await deleteTeam(trx, id)
    await recordChange(trx, { at, actor, teamId: id, action: 'teams.delete', target: team.name })
  })
}
