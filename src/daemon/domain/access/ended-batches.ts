import type { Logger } from 'pino'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { batchesOfEndedCredentials } from '../../store/batches/batch-credentials.ts'
import { changeBatch } from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'

/** States of batches that run by themselves, or once somebody approves them. */
const states = ['running', 'scheduled', 'proposed'] as const

interface PausedBatch {
  readonly batch: string
  readonly reason: string
}

export interface EndedDeps {
  readonly log: Pick<Logger, 'warn'>
}

/** Active batches whose credential has ended. */
export const endedBatches = (db: Queries, now: string) => batchesOfEndedCredentials(db, now, { states })

/**
 * When a credential is revoked or expires, its batches wait until somebody else resumes them. Called in the write
 * that revokes, so that no row is handled after it.
 */
export async function pauseEndedBatches(
  trx: Queries,
  { at, actor }: { at: string; actor: Actor },
): Promise<PausedBatch[]> {
  const paused: PausedBatch[] = []
  for (const { id, teamId, kind, startedBy, revokedAt } of await endedBatches(trx, at)) {
    const [sort, name] = startedBy.startsWith('key:')
      ? ['API key', startedBy.slice('key:'.length)]
      : ['admin token', startedBy.slice('admin:'.length)]
    const how = revokedAt === null ? 'has expired' : 'was revoked'
    const reason = `The ${sort} "${name}", which started it, ${how}. Another credential can resume it.`
    if (!(await changeBatch(trx, id, { states }, { state: 'paused', error: reason, touchedAt: at }))) continue
    const entry = { at, actor: { ...actor, batch: id }, teamId, target: id, detail: { kind, reason } }
    await recordChange(trx, { ...entry, action: 'batches.pause' })
    paused.push({ batch: id, reason })
  }
  return paused
}

export function logPaused(log: EndedDeps['log'], paused: readonly PausedBatch[]): void {
  for (const one of paused) log.warn(one, 'a batch was paused: its credential has ended')
}
