import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'
import type { NewMessage, WebhookDeliveryRow } from '../schema/schema.ts'

const columns = ['webhookId', 'messageId', 'type', 'at', 'chipUid', 'transactionId', 'data'] as const

const insert = statement<NewMessage>()((db, p) =>
  db
    .insertInto('webhookDeliveries')
    .columns([...columns])
    // The webhook may have been disabled or removed since it was read.
    .expression((e) =>
      e
        .selectFrom('webhooks')
        .select((s) => [
          'webhooks.id',
          s.cast<string>(s.val(p.messageId), 'text').as('messageId'),
          s.cast<string>(s.val(p.type), 'text').as('type'),
          s.cast<string>(s.val(p.at), 'text').as('at'),
          s.cast<string | null>(s.val(p.chipUid), 'text').as('chipUid'),
          s.cast<number | null>(s.val(p.transactionId), 'integer').as('transactionId'),
          s.cast<string>(s.val(p.data), 'text').as('data'),
        ])
        .where('webhooks.id', '=', p.webhookId)
        .where('disabledAt', 'is', null),
    ),
)

/** @returns false if the webhook is disabled or removed */
export const insertMessage = insert.runOnce

const openBeyondLimit = statement<{ webhookId: number; waiting: number }>()((db, p) =>
  db
    .selectFrom('webhookDeliveries')
    .select('id')
    .where('webhookId', '=', p.webhookId)
    .where('settledAt', 'is', null)
    .limit(1)
    .offset(p.waiting),
)

/** True if more than `waiting` deliveries are open. */
export const hasMoreOpen = openBeyondLimit.exists

/** For one webhook; the caller tries it now, and anyone from `dueAt` on. */
export const insertDue = async (
  db: Queries,
  message: Omit<NewMessage, 'transactionId' | 'chipUid'> & { dueAt: string },
): Promise<WebhookDeliveryRow> =>
  db.insertInto('webhookDeliveries').values(message).returningAll().executeTakeFirstOrThrow()

export interface DeliveryFilter {
  teamId?: number | undefined
  webhookId?: number | undefined
  state?: 'waiting' | 'delivered' | 'failed' | 'dropped' | undefined
  before?: number | undefined
  limit: number
}

export type ShownDelivery = WebhookDeliveryRow & { teamId: number }

const shown = (db: Queries) =>
  db
    .selectFrom('webhookDeliveries')
    .innerJoin('webhooks', 'webhooks.id', 'webhookDeliveries.webhookId')
    .selectAll('webhookDeliveries')
    .select('webhooks.teamId')
    .where('webhooks.removedAt', 'is', null)

/** Newest first. */
export async function listDeliveries(db: Queries, filter: DeliveryFilter): Promise<ShownDelivery[]> {
  const { teamId, webhookId, state, before, limit } = filter
  let query = shown(db).orderBy('webhookDeliveries.id', 'desc').limit(limit)
  if (teamId === undefined && webhookId === undefined && state === undefined) {
    if (before !== undefined) query = query.where('webhookDeliveries.id', '<', before)
    return query.execute()
  }
  const ids: number[] = []
  for (const id of await webhookIds(db, filter)) ids.push(...(await deliveryIds(db, { ...filter, id })))
  const newest = ids.sort((a, b) => b - a).slice(0, limit)
  return newest.length === 0 ? [] : query.where('webhookDeliveries.id', 'in', newest).execute()
}

async function webhookIds(db: Queries, { teamId, webhookId }: DeliveryFilter): Promise<number[]> {
  let query = db.selectFrom('webhooks').select('id').where('removedAt', 'is', null)
  if (teamId !== undefined) query = query.where('teamId', '=', teamId)
  if (webhookId !== undefined) query = query.where('id', '=', webhookId)
  return (await query.execute()).map(({ id }) => id)
}

/** Each part has an index of its own, so that no webhook's deliveries are walked for those of another, or of a rare state. */
async function deliveryIds(
  db: Queries,
  { id, state, before, limit }: DeliveryFilter & { id: number },
): Promise<number[]> {
  let of = db.selectFrom('webhookDeliveries').select('id').where('webhookId', '=', id)
  if (before !== undefined) of = of.where('id', '<', before)
  const newest = of.orderBy('id', 'desc').limit(limit)
  const parts = {
    waiting: newest.where('settledAt', 'is', null),
    settled: newest.where('settledAt', 'is not', null),
    // A literal, for the partial index.
    undelivered: newest.where('outcome', '!=', sql.lit('delivered' as const)),
  }
  const chosen =
    state === undefined
      ? [parts.waiting, parts.settled]
      : state === 'waiting'
        ? [parts.waiting]
        : state === 'delivered'
          ? [parts.settled.where('outcome', '=', state)]
          : [parts.undelivered.where('outcome', '=', state)]
  const found: number[] = []
  for (const part of chosen) found.push(...(await part.execute()).map((row) => row.id))
  return found
}

export const findDelivery = (db: Queries, id: number): Promise<ShownDelivery | undefined> =>
  shown(db).where('webhookDeliveries.id', '=', id).executeTakeFirst()

/** Opens a settled delivery again, as {@link insertDue} does. @returns false if it is open */
export const reopenDelivery = (db: Queries, { id, at, dueAt }: { id: number; at: string; dueAt: string }) =>
  once(
    db
      .updateTable('webhookDeliveries')
      .set({ settledAt: null, outcome: null, attempts: 0, resentAt: at, dueAt })
      .where('id', '=', id)
      .where('settledAt', 'is not', null),
  )

/** Open deliveries of one webhook, up to a limit. */
export async function countOpen(db: Queries, webhookId: number, limit: number): Promise<number> {
  const { open } = await db
    .selectFrom((of) =>
      of
        .selectFrom('webhookDeliveries')
        .select('id')
        .where('webhookId', '=', webhookId)
        .where('settledAt', 'is', null)
        .limit(limit)
        .as('open'),
    )
    .select((e) => e.fn.countAll<number>().as('open'))
    .executeTakeFirstOrThrow()
  return Number(open)
}

/** Deletes up to `limit` settled deliveries, oldest first. @returns their number */
export const deleteSettled = (
  db: Queries,
  of: { webhookId: number; belowId?: number; settledBefore?: string; limit: number },
) => {
  const { webhookId, belowId, settledBefore, limit } = of
  let old = db
    .selectFrom('webhookDeliveries')
    .select('id')
    .where('webhookId', '=', webhookId)
    .where('settledAt', 'is not', null)
  if (belowId !== undefined) old = old.where('id', '<', belowId)
  if (settledBefore !== undefined) old = old.where('settledAt', '<', settledBefore)
  return affected(db.deleteFrom('webhookDeliveries').where('id', 'in', old.orderBy('id').limit(limit)))
}

/** Settles up to `limit` open deliveries of a disabled webhook. @returns their number */
export const dropOpen = (
  db: Queries,
  { webhookId, at, error, limit }: { webhookId: number; at: string; error: string; limit: number },
) =>
  affected(
    db
      .updateTable('webhookDeliveries')
      .set({ settledAt: at, outcome: 'dropped', error })
      .where('id', 'in', (of) =>
        of
          .selectFrom('webhookDeliveries')
          .select('id')
          .where('webhookId', '=', webhookId)
          .where('settledAt', 'is', null)
          .limit(limit),
      ),
  )
