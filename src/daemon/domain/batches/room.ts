import { pruneBatches, sizeOfBatches } from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'

/** Limits per team, so that no team uses up the others' space. */
const share = { batches: 1000, stored: 2 ** 29 }

const hour = 3_600_000
const day = 24 * hour

/** How long batches are kept after their last activity. Running and scheduled ones stay. */
const keptFor = [
  { ms: hour, states: ['uploading'] },
  { ms: 90 * day, states: ['done', 'cancelled', 'undone'] },
  { ms: 180 * day, states: ['planned', 'proposed', 'paused', 'failed'] },
] as const

/** @param bytes to add to a batch; undefined: a new batch @throws DomainError too_large */
export async function assertRoom(trx: Queries, teamId: number, bytes?: number): Promise<void> {
  const { count, stored } = await sizeOfBatches(trx, teamId)
  const isFull =
    bytes === undefined ? count >= share.batches || stored >= share.stored : stored + bytes > share.stored
  if (!isFull) return
  throw new DomainError(
    'too_large',
    'The limit of stored batches is reached. Delete old ones: tapchip batch remove ID.',
  )
}

/** @returns the number of deleted rows of one kind, at most `limit` */
export async function forgetBatches(trx: Queries, now: number, limit: number): Promise<number> {
  let maxDeleted = 0
  for (const { ms, states } of keptFor)
    maxDeleted = Math.max(maxDeleted, await pruneBatches(trx, { before: iso(now - ms), states, limit }))
  return maxDeleted
}
