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
/** Extra rows to read, since some may have to wait. */
const lookedAhead = 32

interface Next {
  deliveries: QueuedDelivery[]
  /** There are more, which wait for a hash. */
  isBlocked: boolean
}

/**
 * Chooses what to send to a webhook next. First attempts are in the order of the events. They alternate with retries, so
 * that both reach even a receiver so slow that it gets two per turn.
 */
export async function nextDeliveries(
  trx: Queries,
  { id: webhookId, now, limit }: { id: number; now: number; limit: number },
): Promise<Next> {
  const retries = await dueDeliveries(trx, { webhookId, now: iso(now), limit: Math.ceil(limit / 2) })
  const room = limit - retries.length
  const untried: QueuedDelivery[] = []
  const blockedChips = new Set<string>()
  let isBlocked = false
  for (const row of await untriedDeliveries(trx, { webhookId, limit: room + lookedAhead })) {
    if (untried.length === room) break
    const { chipUid } = row
    if (isUnsigned(row, now) || (chipUid !== null && blockedChips.has(chipUid))) {
      // A chip's later messages wait as well.
      if (chipUid !== null) blockedChips.add(chipUid)
      isBlocked = true
      continue
    }
    untried.push({ ...row, data: await fixedData(trx, row) })
  }
  const pairs = Array.from({ length: Math.max(retries.length, untried.length) }, (_, at) => [
    ...retries.slice(at, at + 1),
    ...untried.slice(at, at + 1),
  ])
  return { deliveries: pairs.flat(), isBlocked }
}

const isUnsigned = ({ transactionId, firstHash, at }: QueuedDelivery, now: number): boolean =>
  transactionId !== null && firstHash === null && Math.abs(now - Date.parse(at)) < hashWaitMs

/** Call it before the first try. @returns the data, with the transaction's hash if already signed */
export async function fixedData(trx: Queries, row: QueuedDelivery): Promise<string> {
  const { id, transactionId, firstHash } = row
  if (transactionId === null) return row.data
  const data =
    firstHash === null ? row.data : JSON.stringify({ ...JSON.parse(row.data), initialTxHash: firstHash })
  await fixData(trx, { id, data })
  return data
}
