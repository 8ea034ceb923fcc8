import type { Queries } from './database.ts'
import type { TeamRow } from './schema.ts'

export const allTeams = (db: Queries): Promise<TeamRow[]> =>
  db.selectFrom('teams').selectAll().orderBy('id').execute()

export const findTeam = (db: Queries, id: number): Promise<TeamRow | undefined> =>
  db.selectFrom('teams').selectAll().where('id', '=', id).executeTakeFirst()

export const findTeamNamed = (db: Queries, name: string): Promise<TeamRow | undefined> =>
  db.selectFrom('teams').selectAll().where('name', '=', name).executeTakeFirst()

export const insertTeam = (db: Queries, name: string, createdAt: string): Promise<TeamRow> =>
  db.insertInto('teams').values({ name, createdAt }).returningAll().executeTakeFirstOrThrow()

/** Revoked API keys go with their team: they are worth nothing, and a key's row needs its team's. */
export async function deleteTeam(db: Queries, id: number): Promise<boolean> {
  await db.deleteFrom('apiKeys').where('teamId', '=', id).where('revokedAt', 'is not', null).execute()
  return (await db.deleteFrom('teams').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n
}

const holdings = {
  chips: 'chips',
  chipGroups: 'chip groups',
  items: 'items',
  contracts: 'contracts',
  links: 'links',
  guestbookEvents: 'guestbook events',
  badgeEvents: 'badge events',
} as const

/** What a team still has, in words: tables of it that are not empty, and API keys that are not revoked. */
export async function holdingsOfTeam(db: Queries, teamId: number): Promise<string[]> {
  const held: string[] = []
  for (const table of Object.keys(holdings) as (keyof typeof holdings)[]) {
    const row = await db
      .selectFrom(table)
      .select('teamId')
      .where('teamId', '=', teamId)
      .limit(1)
      .executeTakeFirst()
    if (row) held.push(holdings[table])
  }
  const keys = db
    .selectFrom('apiKeys')
    .select('id')
    .where('teamId', '=', teamId)
    .where('revokedAt', 'is', null)
  if (await keys.limit(1).executeTakeFirst()) held.push('API keys that are not revoked')
  return held
}
