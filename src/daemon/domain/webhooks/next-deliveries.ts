import type { Queries } from '../../store/database/database.ts'
import {
  dueDeliveries,
  fixData,
  type QueuedDelivery,
  untriedDeliveries,
} from '../../store/webhooks/webhook-queue.ts'
import { iso } from '../time/time.ts'

/** A message whose transaction is about to be signed waits this long for the hash. */
const hashWaitMs = 2000
/** Looked at besides, since some may have to wait. */
const lookedAhead = 32

interface Next {
  deliveries: QueuedDelivery[]
  /** There are more, which wait for a hash. */
  isHeldUp: boolean
}

/** What to send to a webhook next. First tries are in the order of the events; those that failed come first, but only as half. */
export async function nextDeliveries(
  trx: Queries,
  { id: webhookId, now, limit }: { id: number; now: number; limit: number },
): Promise<Next> {
  const due = await dueDeliveries(trx, { webhookId, now: iso(now), limit: Math.ceil(limit / 2) })
  const room = limit - due.length
  const deliveries = [...due]
  const heldUpChips = new Set<string>()
  let isHeldUp = false
  for (const row of await untriedDeliveries(trx, { webhookId, limit: room + lookedAhead })) {
    if (deliveries.length === limit) break
    const { chipUid } = row
    if (isUnsigned(row, now) || (chipUid !== null && heldUpChips.has(chipUid))) {
      // A chip's later messages wait with it.
      if (chipUid !== null) heldUpChips.add(chipUid)
      isHeldUp = true
      continue
    }
    const data = dataOf(row)
    if (row.transactionId !== null) await fixData(trx, { id: row.id, data })
    deliveries.push({ ...row, data })
  }
  return { deliveries, isHeldUp }
}

const isUnsigned = ({ transactionId, firstHash, at }: QueuedDelivery, now: number): boolean =>
  transactionId !== null && firstHash === null && Math.abs(now - Date.parse(at)) < hashWaitMs

const dataOf = ({ data, firstHash }: QueuedDelivery): string =>
  firstHash === null ? data : JSON.stringify({ ...JSON.parse(data), initialTxHash: firstHash })
