import { sql } from 'kysely'
import { versionOfChange } from '../database/changes.ts'
import type { Queries } from '../database/database.ts'
import { type ShownTap, shown } from './taps.ts'

export interface ChipOfTap {
  uid: string
  label: string | null
  redirectUrl: string | null
  chipGroup: string
  item: string | null
  itemName: string | null
  picture: string | null
}

/** What a list of taps shows of their chips. */
export async function chipsOfTaps(db: Queries, uids: readonly string[]): Promise<ChipOfTap[]> {
  if (uids.length === 0) return []
  return db
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
}

export const tapsByIds = (db: Queries, ids: readonly number[]): Promise<ShownTap[]> =>
  db.selectFrom('taps').select(shown).where('id', 'in', ids).execute()

export const tapIdsAfter = async (db: Queries, id: number): Promise<number[]> =>
  (await db.selectFrom('taps').select('id').where('id', '>', id).execute()).map((row) => row.id)

/** Entries of the audit log after one, oldest first. */
export const auditedAfter = (db: Queries, { id, limit }: { id: number; limit: number }) =>
  db
    .selectFrom('audit')
    .select(['id', 'action', 'teamId'])
    .where('id', '>', id)
    .orderBy('id')
    .limit(limit)
    .execute()

const maxOpen = 1000

/**
 * One text for each kind of thing that many writes change, which is another one once something changed. Of what is open,
 * only so many rows are read; with more, new attempts tell.
 */
export async function changeMarks(db: Queries) {
  const newest = async (
    table: 'audit' | 'transactions' | 'transactionAttempts' | 'webhookDeliveries' | 'badgeClaims',
  ) => {
    const row = await db
      .selectFrom(table)
      .select((e) => e.fn.max<number | null>('id').as('id'))
      .executeTakeFirstOrThrow()
    return Number(row.id ?? 0)
  }
  const transactions = await db
    .selectFrom((of) =>
      of
        .selectFrom('transactions')
        .select(['state', 'waiting'])
        .where('settledAt', 'is', null)
        .limit(maxOpen)
        .as('open'),
    )
    .select((e) => [
      'state',
      e.fn.countAll<number>().as('count'),
      e.fn.count<number>('waiting').as('waiting'),
    ])
    .groupBy('state')
    .orderBy('state')
    .execute()
  const deliveries = await db
    .selectFrom((of) =>
      of
        .selectFrom('webhookDeliveries')
        .select(['dueAt', 'attempts'])
        .where('settledAt', 'is', null)
        .limit(maxOpen)
        .as('open'),
    )
    .select((e) => [e.fn.countAll<number>().as('count'), e.fn.max<string | null>('dueAt').as('dueAt')])
    .executeTakeFirstOrThrow()
  const claims = await db
    .selectFrom((of) =>
      of
        .selectFrom('badgeClaims')
        .select('id')
        .where('state', '=', sql.lit('open'))
        .limit(maxOpen)
        .as('open'),
    )
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return {
    audit: await newest('audit'),
    transactions: JSON.stringify([
      await newest('transactions'),
      await newest('transactionAttempts'),
      transactions,
    ]),
    webhooks: JSON.stringify([
      await newest('webhookDeliveries'),
      await versionOfChange(db, 'webhooks'),
      deliveries,
    ]),
    badges: JSON.stringify([await newest('badgeClaims'), claims]),
  }
}

/** Batches that something may still happen to, and how far they are. */
export const openBatches = (db: Queries) =>
  db
    .selectFrom('batches')
    .select(['id', 'teamId', 'state', 'pass', 'nextPiece', 'nextRow', 'uploaded', 'error'])
    .where('state', 'in', ['uploading', 'planned', 'proposed', 'scheduled', 'running', 'paused'])
    .orderBy('id', 'desc')
    .limit(200)
    .execute()
