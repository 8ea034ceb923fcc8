import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { WebhookDeliveryRow } from '../schema/schema.ts'

// The deliverer's operations on open deliveries.

export interface QueuedDelivery extends WebhookDeliveryRow {
  /** Hash of its transaction; null: it has none, or it is not signed yet. */
  firstHash: string | null
}

const enabled = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('webhooks')
    .select('webhooks.id')
    .where('disabledAt', 'is', null)
    .where('removedAt', 'is', null)
    .select((e) => {
      const open = e
        .selectFrom('webhookDeliveries')
        .whereRef('webhookId', '=', 'webhooks.id')
        .where('settledAt', 'is', null)
        .limit(1)
      // Two queries, because each uses one place in the index.
      return [
        open.select('webhookDeliveries.id').where('dueAt', 'is', null).as('untried'),
        open.select('dueAt').where('dueAt', 'is not', null).orderBy('dueAt').as('dueAt'),
      ]
    }),
)

/** Webhooks that are enabled, with a delivery that was never tried, and the time of the earliest other one, if any. */
export const webhookQueues = (db: Queries) => enabled.all(db, {})

const open = (db: Queries, webhookId: number) =>
  db
    .selectFrom('webhookDeliveries')
    .leftJoin('transactions', 'transactions.id', 'webhookDeliveries.transactionId')
    .selectAll('webhookDeliveries')
    .select('transactions.firstHash')
    .where('webhookId', '=', webhookId)
    .where('webhookDeliveries.settledAt', 'is', null)

/** Never tried, oldest first. */
export const untriedDeliveries = statement<{ webhookId: number; limit: number }>()((db, p) =>
  open(db, p.webhookId).where('dueAt', 'is', null).orderBy('webhookDeliveries.id').limit(p.limit),
).all

/** Tried before, and due again. */
export const dueDeliveries = statement<{ webhookId: number; now: string; limit: number }>()((db, p) =>
  open(db, p.webhookId).where('dueAt', '<=', p.now).orderBy('dueAt').limit(p.limit),
).all

/** Stored before the first attempt, so that later ones say the same even if the process ends during the first. */
export const fixData = statement<{ id: number; data: string }>()((db, p) =>
  db.updateTable('webhookDeliveries').set({ data: p.data, transactionId: null }).where('id', '=', p.id),
).run

export type TryResult = {
  id: number
  /** Failed attempts before this one. */
  attempts: number
  outcome: 'delivered' | 'failed' | null
  /** Null: it is retried at `dueAt`. */
  settledAt: string | null
  dueAt: string | null
  statusCode: number | null
  error: string | null
}

/** @returns false if it was settled or tried in the meantime */
export const recordTry = statement<TryResult>()((db, p) =>
  db
    .updateTable('webhookDeliveries')
    .set((e) => ({
      attempts: e('attempts', '+', 1),
      outcome: p.outcome,
      settledAt: p.settledAt,
      dueAt: p.dueAt,
      statusCode: p.statusCode,
      error: p.error,
    }))
    .where('id', '=', p.id)
    .where('attempts', '=', p.attempts)
    .where('settledAt', 'is', null),
).runOnce

/** The ID of a webhook's newest settled delivery beyond the `kept` newest; undefined: there are not that many. */
export const newestSurplus = async (
  db: Queries,
  { webhookId, kept }: { webhookId: number; kept: number },
): Promise<number | undefined> =>
  (
    await db
      .selectFrom('webhookDeliveries')
      .select('id')
      .where('webhookId', '=', webhookId)
      .where('settledAt', 'is not', null)
      .orderBy('id', 'desc')
      .offset(kept)
      .limit(1)
      .executeTakeFirst()
  )?.id
