import type { Queries } from '../database/database.ts'

/** What a list of taps shows of their chips. */
export const chipsOfTaps = (db: Queries, uids: readonly string[]) =>
  db
    .selectFrom('chips')
    .innerJoin('chipGroups', 'chipGroups.id', 'chips.chipGroupId')
    .leftJoin('items', (join) =>
      join.onRef('items.teamId', '=', 'chips.teamId').onRef('items.id', '=', 'chips.itemId'),
    )
    .select([
      'chips.uid',
      'chips.label',
      'chips.redirectUrl',
      'chipGroups.name as chipGroup',
      'chips.itemId as item',
      'items.name as itemName',
      'items.imageUrl as picture',
    ])
    .where('chips.uid', 'in', uids)
    .execute()

/** Entries of the audit log after one, oldest first. */
export const auditedAfter = (db: Queries, { id, limit }: { id: number; limit: number }) =>
  db
    .selectFrom('audit')
    .select(['id', 'action', 'teamId'])
    .where('id', '>', id)
    .orderBy('id')
    .limit(limit)
    .execute()

/** The newest ID of each. */
export async function newestIds(db: Queries) {
  const newest = async (table: 'audit' | 'transactions' | 'webhookDeliveries' | 'badgeClaims') => {
    const row = await db
      .selectFrom(table)
      .select((e) => e.fn.max<number | null>('id').as('id'))
      .executeTakeFirstOrThrow()
    return Number(row.id ?? 0)
  }
  return {
    audit: await newest('audit'),
    transactions: await newest('transactions'),
    webhooks: await newest('webhookDeliveries'),
    badges: await newest('badgeClaims'),
  }
}

/** How far the running batches are. */
export const runningBatches = (db: Queries) =>
  db
    .selectFrom('batches')
    .select(['id', 'teamId', 'pass', 'nextPiece', 'nextRow'])
    .where('state', '=', 'running')
    .limit(100)
    .execute()
