import type { Db } from '../../store/database.ts'
import { deleteDelivery } from '../../store/webhook-deliveries.ts'
import { oldestSettled } from '../../store/webhook-queue.ts'
import { allWebhooks } from '../../store/webhooks.ts'
import { type BudgetClock, iso } from '../time.ts'

const keptMs = 7 * 24 * 3_600_000
/** Rows per write, kept small so that taps do not wait long. */
const atOnce = 500

/** Deletes what was settled a week ago: messages contain recipients. A jump of the clock counts only after a day. */
export async function pruneDeliveries({ db, clock }: { db: Db; clock: BudgetClock }): Promise<void> {
  const before = iso(clock.settled() - keptMs)
  for (const { id } of await allWebhooks(db.read)) {
    const isMore = () =>
      db.write(async (trx) => {
        const oldest = await oldestSettled(trx, id, atOnce)
        const old = oldest.filter(({ settledAt }) => settledAt !== null && settledAt < before)
        for (const { id } of old) await deleteDelivery(trx, { id })
        return old.length === atOnce
      })
    while (await isMore()) await new Promise(setImmediate)
  }
}
