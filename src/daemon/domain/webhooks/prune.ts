import type { Db, Queries } from '../../store/database/database.ts'
import { deleteSettled, dropOpen } from '../../store/webhooks/webhook-deliveries.ts'
import { newestSurplus } from '../../store/webhooks/webhook-queue.ts'
import { allWebhooks, deleteWebhook, findWebhook, removedWebhooks } from '../../store/webhooks/webhooks.ts'
import { type BudgetClock, type Clock, iso } from '../time/time.ts'

const dayMs = 24 * 3_600_000
const keptDays = 7
/** Number of settled deliveries kept per webhook. */
const maxSettled = 10_000
/** Rows per write, kept small so that taps do not wait long. */
const batchSize = 500

interface Retention {
  db: Db
  clock: BudgetClock
  config: { keepTapsDays: number | 'off'; keepEmailsDays: number | 'off' }
}

/**
 * Deletes what was settled a week ago, or as many days as taps or email addresses are kept: messages contain both. A
 * jump of the clock counts only after a day.
 */
export async function pruneDeliveries({ db, clock, config }: Retention): Promise<void> {
  const bounds = [config.keepTapsDays, config.keepEmailsDays].filter((days) => days !== 'off')
  const settledBefore = iso(clock.confirmedTime() - Math.min(keptDays, ...bounds) * dayMs)
  for (const { id } of await allWebhooks(db.read)) await deleteInBatches(db, { webhookId: id, settledBefore })
}

async function deleteInBatches(
  db: Db,
  which: { webhookId: number; belowId?: number; settledBefore?: string },
): Promise<void> {
  const batch = (trx: Queries) => deleteSettled(trx, { ...which, limit: batchSize })
  while ((await db.write(batch)) === batchSize) await new Promise(setImmediate)
}

/** Deletes all but the newest settled deliveries. */
export async function keepNewest({ db }: { db: Db }, webhookId: number): Promise<void> {
  const newest = await newestSurplus(db.slow, { webhookId, kept: maxSettled })
  if (newest !== undefined) await deleteInBatches(db, { webhookId, belowId: newest + 1 })
}

/** Drops pending deliveries of a disabled webhook. */
export async function dropWaiting(deps: { db: Db; clock: Clock }, webhookId: number): Promise<void> {
  const { db, clock } = deps
  const error = 'the webhook was disabled'
  const piece = async (trx: Queries) => {
    // Checked in each write: the webhook may have been enabled again, and then new deliveries must be sent.
    if ((await findWebhook(trx, webhookId))?.disabledAt === null) return false
    return (await dropOpen(trx, { webhookId, at: iso(clock.now()), error, limit: batchSize })) === batchSize
  }
  while (await db.write(piece)) await new Promise(setImmediate)
  await keepNewest(deps, webhookId)
}

/** Drops deliveries that an earlier process did not get to. */
export async function dropForDisabled(deps: { db: Db; clock: Clock }): Promise<void> {
  for (const { id, disabledAt } of await allWebhooks(deps.db.read))
    if (disabledAt !== null) await dropWaiting(deps, id)
}

/** Deletes removed webhooks with their deliveries, piece by piece, so that taps do not wait. */
export async function deleteRemoved({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  for (const webhookId of await removedWebhooks(db.read)) {
    const isMore = () =>
      db.write(async (trx) => {
        await dropOpen(trx, { webhookId, at: iso(clock.now()), error: '', limit: batchSize })
        const deleted = await deleteSettled(trx, { webhookId, limit: batchSize })
        if (deleted === 0) await deleteWebhook(trx, webhookId)
        return deleted > 0
      })
    while (await isMore()) await new Promise(setImmediate)
  }
}
