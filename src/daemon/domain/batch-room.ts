import { pruneBatches, sizeOfBatches } from '../store/batch-journals.ts'
import type { Queries } from '../store/database.ts'
import { DomainError } from './errors.ts'
import { iso } from './time.ts'

/** Of one team, so that a team that fills its own share takes no room from others. Operators share one, too. */
const share = { batches: 1000, stored: 2 ** 29 }

/** Bytes of one batch: as kept, and before they are deflated, since whoever reads them has to keep them. */
export const largest = { stored: 64 * 2 ** 20, length: 2 ** 31 }

const hour = 3_600_000
const day = 24 * hour
/** Since they were last heard. */
const kept = { empty: hour, done: 90 * day, all: 180 * day }

/** @param bytes that a batch there grows by; undefined: one more batch @throws DomainError too_large */
export async function assertRoom(trx: Queries, teamId: number | null, bytes?: number): Promise<void> {
  const { count, stored } = await sizeOfBatches(trx, teamId)
  const isFull =
    bytes === undefined ? count >= share.batches || stored >= share.stored : stored + bytes > share.stored
  if (!isFull) return
  throw new DomainError(
    'too_large',
    'The limit of stored batches is reached. Delete old ones: tapchip batch remove ID.',
  )
}

/** @returns how many were deleted of one kind, at most `limit` */
export async function forgetBatches(trx: Queries, now: number, limit: number): Promise<number> {
  let most = 0
  for (const which of ['empty', 'done', 'all'] as const) {
    const heardBefore = iso(now - kept[which])
    most = Math.max(most, await pruneBatches(trx, { heardBefore, which, limit }))
  }
  return most
}
