import { recordChange } from '../../store/audit/audit.ts'
import { auditSeal, readAuditHead, reseal, sealAuditWith } from '../../store/audit/audit-head.ts'
import { endWhatWasOpen } from '../../store/backup/restored.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'

interface Restored {
  /** ISO 8601. */
  readonly at: string
  /** The time of the restored state; null: unknown. */
  readonly madeAt: string | null
  /** The backup or database, for the audit log. */
  readonly target: string
}

/**
 * Ends refs, codes, and taps that may have been used since the restored state. @returns the number of chips whose
 * next tap only raises the counter
 */
export const markRestored = (
  db: Db,
  box: SecretBox,
  { at, madeAt, target }: Restored,
): Promise<{ chips: number }> =>
  db.write(async (trx) => {
    sealAuditWith(trx, auditSeal(box))
    const { isSealed } = await readAuditHead(trx, box)
    const ended = await endWhatWasOpen(trx, at)
    const actor = { name: 'daemon', requestId: null }
    const detail = { madeAt, ...ended, ...(isSealed ? {} : { beganAnew: true }) }
    await recordChange(trx, { at, actor, teamId: null, action: 'daemon.restore', target, detail })
    if (!isSealed) await reseal(trx, at)
    return ended
  })
