import { sourcesOf } from '../../../nfc/provision/plan.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findChips } from '../../store/chips.ts'
import type { Db } from '../../store/database.ts'
import { closeNfcPlan, giveUpNfcPlan } from '../../store/nfc-plans.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { entriesOf } from './journal.ts'

/**
 * An operator says that a chip is lost or dead: its unfinished plan, or where there is none, the last one of a chip that
 * is not registered any more, holds no key set from now on. @throws DomainError not_found, conflict
 */
export async function giveUpChip(
  { db, clock }: { db: Db; clock: Clock },
  actor: Actor,
  uid: string,
): Promise<void> {
  const at = iso(clock.now())
  const end = { closedAt: at, closedBy: actor.name }
  await db.write(async (trx) => {
    const entries = await entriesOf(trx, uid)
    const open = entries.find(({ row }) => row.closedAt === null)
    const last = entries.findLast(({ outcome }) => outcome === 'done')
    const entry = open ?? (last?.plan.target === 'factory' ? undefined : last)
    if (!entry) {
      throw new DomainError(
        'not_found',
        'No set-up of this chip is unfinished here, and it has no keys that are known of. tapchip nfc recover --list shows the chips that are not finished.',
      )
    }
    if (!open && (await findChips(trx, [uid])).length > 0) {
      throw new DomainError(
        'conflict',
        'The set-up of this chip is finished, and it is registered. Take it out first: tapchip chips remove',
      )
    }
    if (open) await closeNfcPlan(trx, open.id, { ...end, outcome: 'given-up' })
    else await giveUpNfcPlan(trx, entry.id, end)
    const { id, place, plan } = entry
    const detail = { plan: id, isFinished: !open, keys: sourcesOf(plan) }
    await recordChange(trx, {
      at,
      actor,
      teamId: place?.teamId ?? null,
      action: 'nfc.give-up',
      target: uid,
      detail,
    })
  })
}
