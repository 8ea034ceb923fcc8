import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { NfcPlanRow, NfcPlansTable } from './schema.ts'

export async function insertNfcPlan(db: Queries, row: Insertable<NfcPlansTable>): Promise<number> {
  const { id } = await db.insertInto('nfcPlans').values(row).returning('id').executeTakeFirstOrThrow()
  return id
}

/** All plans of one chip, oldest first. */
export const nfcPlansOf = (db: Queries, uid: string): Promise<NfcPlanRow[]> =>
  db.selectFrom('nfcPlans').selectAll().where('uid', '=', uid).orderBy('id').execute()

export const openNfcPlans = (db: Queries): Promise<NfcPlanRow[]> =>
  db.selectFrom('nfcPlans').selectAll().where('closedAt', 'is', null).orderBy('id').execute()

/** Newest first. */
export function listNfcPlans(
  db: Queries,
  filter: { open: boolean; uid?: string | undefined; before?: number | undefined; limit: number },
): Promise<NfcPlanRow[]> {
  let query = db.selectFrom('nfcPlans').selectAll().orderBy('id', 'desc').limit(filter.limit)
  if (filter.open) query = query.where('closedAt', 'is', null)
  if (filter.uid !== undefined) query = query.where('uid', '=', filter.uid)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  return query.execute()
}

/** Once: false where it is closed already. */
export async function closeNfcPlan(
  db: Queries,
  id: number,
  end: { closedAt: string; closedBy: string; outcome: NonNullable<NfcPlanRow['outcome']> },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('nfcPlans')
    .set(end)
    .where('id', '=', id)
    .where('closedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Of an open plan alone. */
export async function updateNfcPlan(
  db: Queries,
  id: number,
  change: Partial<Pick<NfcPlanRow, 'problem' | 'registration'>>,
): Promise<void> {
  await db.updateTable('nfcPlans').set(change).where('id', '=', id).where('closedAt', 'is', null).execute()
}
