import type { Queries } from '../database/database.ts'
import { affected, exists, statement } from '../database/statement.ts'
import type { TeamRow } from '../schema/schema.ts'

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

export type BudgetCharge = {
  teamId: number
  /** YYYY-MM-DD, UTC. */
  day: string
  /** Gas of one transaction. */
  gas: number
  /** 2: may use at most half of the limits. */
  parts: 1 | 2
}

const spend = statement<BudgetCharge & Limits>()((db, p) =>
  db
    .updateTable('teams')
    // A later day comes from a clock that was ahead: see `clampSpentDays`.
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
/** @param defaults limits for teams without their own @returns false if the budget of the day is used up */
export const spendBudget = async (db: Queries, spending: BudgetCharge, defaults: Limits): Promise<boolean> =>
  (await spend.run(db, { ...spending, ...defaults })) === 1

/** If the clock was ahead, the spending of future days counts for today. */
export const clampSpentDays = (db: Queries, today: string) =>
  affected(db.updateTable('teams').set({ spentDay: today }).where('spentDay', '>', today))

export type EditableTeam = Pick<
  TeamRow,
  | 'transactionsPerDay'
  | 'gasPerDay'
  | 'brandName'
  | 'brandColor'
  | 'brandBackground'
  | 'brandLogoUrl'
  | 'publicPages'
  | 'pageStrings'
>

export const updateTeam = (db: Queries, id: number, fields: Partial<EditableTeam>) =>
  affected(db.updateTable('teams').set(fields).where('id', '=', id))

/** Also deletes its revoked credentials. */
export async function deleteTeam(db: Queries, id: number): Promise<boolean> {
  for (const kind of ['apiKeys', 'adminTokens'] as const)
    await db.deleteFrom(kind).where('teamId', '=', id).where('revokedAt', 'is not', null).execute()
  return (await db.deleteFrom('teams').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n
}

const holdings = {
  chips: 'chips',
  chipGroups: 'chip groups',
  items: 'items',
  contracts: 'contracts',
  links: 'links',
  webhooks: 'webhooks',
  guestbookEvents: 'guestbook events',
  badgeEvents: 'badge events',
} as const

const liveCredentials = { apiKeys: 'API keys', adminTokens: 'admin tokens' } as const

/** @returns names of the non-empty tables, and of active credentials */
export async function holdingsOfTeam(db: Queries, teamId: number): Promise<string[]> {
  const held: string[] = []
  for (const table of Object.keys(holdings) as (keyof typeof holdings)[]) {
    if (await exists(db.selectFrom(table).select('teamId').where('teamId', '=', teamId)))
      held.push(holdings[table])
  }
  for (const kind of ['apiKeys', 'adminTokens'] as const) {
    const live = db.selectFrom(kind).select('id').where('teamId', '=', teamId).where('revokedAt', 'is', null)
    if (await exists(live)) held.push(`${liveCredentials[kind]} that are not revoked`)
  }
  return held
}
