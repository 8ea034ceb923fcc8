import type { Plan } from '../../../nfc/provision/plan.ts'
import { maxCounter } from '../../../values/chip-row.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findChips, updateChip } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import { endOtpsOfChip } from '../../store/otps.ts'
import { endPageVisits } from '../../store/page-visits.ts'
import { endRefsOfChip } from '../../store/refs.ts'
import { isReset } from './known-chip.ts'

/**
 * Part of the write that finishes a reset: the chip lost its keys, so no tap that somebody kept is worth anything, nor
 * what came of one. The next set-up counts from its own tap.
 */
export const endTaps =
  (actor: Actor, plan: Plan) =>
  async (trx: Queries, at: string): Promise<void> => {
    const { uid } = plan
    const [row] = isReset(plan) ? await findChips(trx, [uid]) : []
    if (!row || row.keySetId === null) return
    await updateChip(trx, uid, { lastCounter: maxCounter })
    await endRefsOfChip(trx, uid, at)
    await endOtpsOfChip(trx, uid, at)
    await endPageVisits(trx, uid)
    const { teamId, keySetId: keySet, generation, lastCounter } = row
    const detail = { keySet, generation, lastCounter }
    await recordChange(trx, { at, actor, teamId, action: 'chips.reset', target: uid, detail })
  }
