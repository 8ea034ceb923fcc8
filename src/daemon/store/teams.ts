import type { Queries } from './database.ts'
import type { TeamRow } from './schema.ts'
import { affected, exists, statement } from './statement.ts'

export const allTeams = (db: Queries) => db.selectFrom('teams').selectAll().orderBy('id').execute()

export const findTeam = (db: Queries, id: number) =>
  db.selectFrom('teams').selectAll().where('id', '=', id).executeTakeFirst()

export const findTeamNamed = (db: Queries, name: string) =>
  db.selectFrom('teams').selectAll().where('name', '=', name).executeTakeFirst()

export const insertTeam = (db: Queries, name: string, createdAt: string): Promise<TeamRow> =>
  db.insertInto('teams').values({ name, createdAt }).returningAll().executeTakeFirstOrThrow()

export type Limits = {
  transactionsPerDay: number
  gasPerDay: number
}

export type Spending = {
  teamId: number
  /** YYYY-MM-DD, UTC. */
  day: string
  /** Of one transaction. */
  gas: number
  /** 2: it may bring the team to one half of its limits, and no further. */
  parts: 1 | 2
}

const spend = statement<Spending & Limits>()((db, p) =>
  db
    .updateTable('teams')
    // A later day than this one was the clock's mistake: see `mendDays`.
    .set((e) => {
      const today = (column: 'spentTransactions' | 'spentGas') =>
        e.case().when('spentDay', '>=', p.day).then(e.ref(column)).else(0).end()
      return {
        spentTransactions: e(today('spentTransactions'), '+', 1),
        spentGas: e(today('spentGas'), '+', p.gas),
        spentDay: p.day,
      }
    })
    .where('id', '=', p.teamId)
    .where((e) => {
      const today = (column: 'spentTransactions' | 'spentGas') =>
        e.case().when('spentDay', '>=', p.day).then(e.ref(column)).else(0).end()
      const fits = (
        column: 'spentTransactions' | 'spentGas',
        more: number,
        limit: 'transactionsPerDay' | 'gasPerDay',
      ) =>
        e(
          e(e.parens(e(today(column), '+', more)), '*', p.parts),
          '<=',
          e(e(e.fn.coalesce(limit, e.val(p[limit])), '+', p.parts), '-', 1),
        )
      return e.and([fits('spentTransactions', 1, 'transactionsPerDay'), fits('spentGas', p.gas, 'gasPerDay')])
    }),
)
/**
 * Counts one transaction against a team's day, if that has room for it: a row a team, and each day begins it anew.
 * @param usual what counts where the team has no limits of its own @returns false where the day is spent
 */
export const spendBudget = async (db: Queries, spending: Spending, usual: Limits): Promise<boolean> =>
  (await spend.run(db, { ...spending, ...usual })) === 1

/** Days that were spent while the clock was ahead count for this one: what was spent stays spent, until tomorrow. */
export const mendDays = (db: Queries, today: string) =>
  affected(db.updateTable('teams').set({ spentDay: today }).where('spentDay', '>', today))

export const setLimits = (
  db: Queries,
  id: number,
  limits: Partial<Pick<TeamRow, 'transactionsPerDay' | 'gasPerDay'>>,
) => affected(db.updateTable('teams').set(limits).where('id', '=', id))

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

/** The team's tables that are not empty, in words, and API keys that are not revoked. */
export async function holdingsOfTeam(db: Queries, teamId: number): Promise<string[]> {
  const held: string[] = []
  for (const table of Object.keys(holdings) as (keyof typeof holdings)[]) {
    if (await exists(db.selectFrom(table).select('teamId').where('teamId', '=', teamId)))
      held.push(holdings[table])
  }
  const keys = db
    .selectFrom('apiKeys')
    .select('id')
    .where('teamId', '=', teamId)
    .where('revokedAt', 'is', null)
  if (await exists(keys)) held.push('API keys that are not revoked')
  return held
}
