import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { WebhookDeliveryRow } from '../schema/schema.ts'

// What the deliverer does with deliveries, within one write. A claim holds until `dueAt`, or until its process ends.

export interface QueuedDelivery extends WebhookDeliveryRow {
  /** Of its transaction; null: it has none, or it is not signed yet. */
  firstHash: string | null
}

const open = (db: Queries, webhookId: number) =>
  db
    .selectFrom('webhookDeliveries')
    .leftJoin('transactions', 'transactions.id', 'webhookDeliveries.transactionId')
    .selectAll('webhookDeliveries')
    .select('transactions.firstHash')
    .where('webhookId', '=', webhookId)
    .where('webhookDeliveries.settledAt', 'is', null)

type Selection = { webhookId: number; now: string; limit: number }

/** Never tried, oldest first. */
export const freshDeliveries = statement<Selection>()((db, p) =>
  open(db, p.webhookId).where('dueAt', 'is', null).orderBy('webhookDeliveries.id').limit(p.limit),
).all

/** Tried or claimed before, and due again. */
export const dueDeliveries = statement<Selection>()((db, p) =>
  open(db, p.webhookId).where('dueAt', '<=', p.now).orderBy('dueAt').limit(p.limit),
).all

const withWork = statement<{ now: string }>()((db, p) =>
  db
    .selectFrom('webhooks')
    .select('webhooks.id')
    .where('disabledAt', 'is', null)
    .where('removedAt', 'is', null)
    .where((e) => {
      const open = e
        .selectFrom('webhookDeliveries')
        .select('webhookDeliveries.id')
        .whereRef('webhookId', '=', 'webhooks.id')
        .where('settledAt', 'is', null)
        .limit(1)
      // Two conditions, since each is a place in the index.
      return e.or([e.exists(open.where('dueAt', 'is', null)), e.exists(open.where('dueAt', '<=', p.now))])
    }),
)

/** Webhooks with deliveries that can be tried now, by ID. */
export const webhooksWithWork = async (db: Queries, now: string): Promise<number[]> =>
  (await withWork.all(db, { now })).map(({ id }) => id)

/** @returns false if another process was first */
export const claimDelivery = statement<{
  id: number
  holder: string
  now: string
  until: string
  data: string
}>()((db, p) =>
  db
    .updateTable('webhookDeliveries')
    // Its data says the same at each try, even if the process ends before the first one is over.
    .set({ holder: p.holder, dueAt: p.until, data: p.data, transactionId: null })
    .where('id', '=', p.id)
    .where('settledAt', 'is', null)
    .where((e) => e.or([e('dueAt', 'is', null), e('dueAt', '<=', p.now)])),
).once

const earliest = statement<{ webhookId: number }>()((db, p) =>
  db
    .selectFrom('webhookDeliveries')
    .select('dueAt')
    .where('webhookId', '=', p.webhookId)
    .where('settledAt', 'is', null)
    .where('dueAt', 'is not', null)
    .orderBy('dueAt')
    .limit(1),
)

export const earliestDue = async (db: Queries, webhookId: number): Promise<string | undefined> =>
  (await earliest.first(db, { webhookId }))?.dueAt ?? undefined

/** `onRequest`: the other name that this process claims by. */
type Ended = {
  id: number
  holder: string
  onRequest: string
  statusCode: number | null
  error: string | null
}

/** @returns false if it is not claimed by this process any more */
export const settleDelivery = statement<Ended & { at: string; outcome: 'delivered' | 'failed' }>()((db, p) =>
  db
    .updateTable('webhookDeliveries')
    .set((e) => ({
      settledAt: p.at,
      outcome: p.outcome,
      attempts: e('attempts', '+', 1),
      statusCode: p.statusCode,
      error: p.error,
      holder: null,
      dueAt: null,
    }))
    .where('id', '=', p.id)
    .where('holder', 'in', [p.holder, p.onRequest])
    .where('settledAt', 'is', null),
).once

/** @returns false if it is not claimed by this process any more */
export const tryDeliveryAgain = statement<Ended & { dueAt: string }>()((db, p) =>
  db
    .updateTable('webhookDeliveries')
    .set((e) => ({
      attempts: e('attempts', '+', 1),
      dueAt: p.dueAt,
      statusCode: p.statusCode,
      error: p.error,
      holder: null,
    }))
    .where('id', '=', p.id)
    .where('holder', 'in', [p.holder, p.onRequest])
    .where('settledAt', 'is', null),
).once

/** Claimed and not tried: as if it had not been claimed. */
export const releaseDelivery = statement<{ id: number; holder: string; dueAt: string | null }>()((db, p) =>
  db
    .updateTable('webhookDeliveries')
    .set({ holder: null, dueAt: p.dueAt })
    .where('id', '=', p.id)
    .where('holder', '=', p.holder)
    .where('settledAt', 'is', null),
).once

/**
 * After a crash: what was claimed is due, and what has no known result counts as never tried. @param of `now`: ISO 8601;
 * `except`: a pattern of holders that keep what they have
 */
export async function releaseAllDeliveries(
  db: Queries,
  { now, except }: { now: string; except: string },
): Promise<void> {
  const claimed = db
    .updateTable('webhookDeliveries')
    .where('settledAt', 'is', null)
    .where('holder', 'not like', except)
  await claimed.set({ holder: null, dueAt: null }).where('attempts', '=', 0).execute()
  await claimed.set({ holder: null, dueAt: now }).execute()
}

/**
 * After the clock was set back: up to `limit` that are not claimed and wait beyond `latest` are due.
 * @param of ISO 8601 @returns their number
 */
export const hastenDeliveries = (db: Queries, of: { now: string; latest: string; limit: number }) =>
  affected(
    db
      .updateTable('webhookDeliveries')
      .set({ dueAt: of.now })
      .where('id', 'in', (e) =>
        e
          .selectFrom('webhookDeliveries')
          .select('id')
          .where('settledAt', 'is', null)
          .where('holder', 'is', null)
          .where('dueAt', '>', of.latest)
          .limit(of.limit),
      ),
  )

/** The ID before which a webhook's settled deliveries are too many; undefined: there are not that many. */
export const firstKept = async (
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

/** A webhook's oldest settled deliveries. */
export const oldestSettled = (db: Queries, webhookId: number, limit: number) =>
  db
    .selectFrom('webhookDeliveries')
    .select(['id', 'settledAt'])
    .where('webhookId', '=', webhookId)
    .where('settledAt', 'is not', null)
    .orderBy('id')
    .limit(limit)
    .execute()
