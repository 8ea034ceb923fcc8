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
export function listDeliveries(
  db: Queries,
  { teamId, webhookId, state, before, limit }: DeliveryFilter,
): Promise<ShownDelivery[]> {
  let query = shown(db).orderBy('webhookDeliveries.id', 'desc').limit(limit)
  if (teamId !== undefined) query = query.where('webhooks.teamId', '=', teamId)
  if (webhookId !== undefined) query = query.where('webhookDeliveries.webhookId', '=', webhookId)
  if (state === 'waiting') query = query.where('settledAt', 'is', null)
  else if (state !== undefined) query = query.where('outcome', '=', state)
  if (before !== undefined) query = query.where('webhookDeliveries.id', '<', before)
  return query.execute()
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
