import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { NfcPlanRow, NfcPlansTable } from '../schema/schema.ts'

export async function insertNfcPlan(db: Queries, row: Insertable<NfcPlansTable>): Promise<number> {
  const { id } = await db.insertInto('nfcPlans').values(row).returning('id').executeTakeFirstOrThrow()
  return id
}

/** Oldest first. */
export const nfcPlansOf = (db: Queries, uid: string) =>
  db.selectFrom('nfcPlans').selectAll().where('uid', '=', uid).orderBy('id').execute()

export const openNfcPlans = (db: Queries) =>
  db.selectFrom('nfcPlans').selectAll().where('closedAt', 'is', null).orderBy('id').execute()

/** IDs from `from` up to, and without, `before`; `teamId`: plans that name this team, or none for one of its chips. */
interface PlanFilter {
  open: boolean
  uid?: string | undefined
  before?: number | undefined
  from?: number | undefined
  teamId?: number | undefined
  limit: number
}

/** Newest first. */
export function listNfcPlans(db: Queries, filter: PlanFilter): Promise<NfcPlanRow[]> {
  let query = db.selectFrom('nfcPlans').selectAll().orderBy('id', 'desc').limit(filter.limit)
  if (filter.open) query = query.where('closedAt', 'is', null)
  if (filter.uid !== undefined) query = query.where('uid', '=', filter.uid)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  if (filter.from !== undefined) query = query.where('id', '>=', filter.from)
  const { teamId } = filter
  if (teamId === undefined) return query.execute()
  return query
    .where((e) =>
      e.or([
        ...[',', '}'].map((end) => e('registration', 'like', `%"teamId":${teamId}${end}%`)),
        e.and([
          e('registration', 'is', null),
          e.exists(
            e
              .selectFrom('chips')
              .select('chips.uid')
              .whereRef('chips.uid', '=', 'nfcPlans.uid')
              .where('chips.teamId', '=', teamId),
          ),
        ]),
      ]),
    )
    .execute()
}

/** The chip has no use for supplied keys any more, so they are forgotten. @returns false if it was already closed */
export const closeNfcPlan = (
  db: Queries,
  id: number,
  end: { closedAt: string; closedBy: string; outcome: NonNullable<NfcPlanRow['outcome']> },
) =>
  once(
    db
      .updateTable('nfcPlans')
      .set({ ...end, suppliedKeys: null })
      .where('id', '=', id)
      .where('closedAt', 'is', null),
  )

/** @returns false if the plan is not finished, or was already given up */
export const giveUpNfcPlan = (db: Queries, id: number, end: { closedAt: string; closedBy: string }) =>
  once(
    db
      .updateTable('nfcPlans')
      .set({ ...end, outcome: 'given-up' })
      .where('id', '=', id)
      .where('outcome', '=', 'done'),
  )

/** Unregistered chips that last received keys of the key set. @param limit maximum number of UIDs returned */
export async function chipsStillUsing(
  db: Queries,
  keySet: number,
  limit: number,
): Promise<{ count: number; uids: string[] }> {
  const left = db
    .selectFrom('nfcPlans as p')
    .where('p.outcome', '=', 'done')
    // Matches the JSON format of plans: nfc/provision/plan.ts.
    .where('p.plan', 'like', `%"target":{"keySet":${keySet},%`)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('chips').select('chips.uid').whereRef('chips.uid', '=', 'p.uid'))),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('nfcPlans as later')
            .select('later.id')
            .whereRef('later.uid', '=', 'p.uid')
            .whereRef('later.id', '>', 'p.id')
            .where('later.outcome', '=', 'done'),
        ),
      ),
    )
  const { count } = await left.select((eb) => eb.fn.countAll().as('count')).executeTakeFirstOrThrow()
  const named = await left.select('p.uid').orderBy('p.id').limit(limit).execute()
  return { count: Number(count), uids: named.map(({ uid }) => uid) }
}

export const updateNfcPlan = (
  db: Queries,
  id: number,
  change: Partial<Pick<NfcPlanRow, 'problem' | 'registration'>>,
) => affected(db.updateTable('nfcPlans').set(change).where('id', '=', id).where('closedAt', 'is', null))
