import type { BadgeCode } from '../../badges/provider.ts'
import { recordChange } from '../../store/audit.ts'
import { codePlace, deleteCodes, insertCodes } from '../../store/badge-codes.ts'
import { setApproval } from '../../store/badge-events.ts'
import type { Db } from '../../store/database.ts'
import type { BadgeEventRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { type Clock, iso } from '../time.ts'

/** Taps are served between two such writes. */
const aWrite = 1_000

/**
 * Keeps the codes that POAP gave, sealed, and says that the event is approved once all of them are there. Those that
 * somebody used already are left out. Cut off in the middle, it begins anew: nobody got a code yet.
 */
export async function storeCodes(
  { db, box, clock }: { db: Db; box: SecretBox; clock: Clock },
  event: BadgeEventRow,
  codes: readonly BadgeCode[],
): Promise<void> {
  const free = [...new Set(codes.filter(({ claimed }) => !claimed).map(({ code }) => code))]
  await db.write((trx) => deleteCodes(trx, event.id))
  for (let from = 0; from < free.length; from += aWrite) {
    const sealed = free.slice(from, from + aWrite).map((code, index) => {
      const number = from + index + 1
      return { number, code: box.seal(Buffer.from(code), codePlace(event.id, number)) }
    })
    await db.write((trx) => insertCodes(trx, event.id, sealed))
  }
  await db.write(async (trx) => {
    if (!(await setApproval(trx, event.id, { approval: 'approved', remainingCodes: free.length }))) return
    await recordChange(trx, {
      at: iso(clock.now()),
      actor: { name: 'daemon', requestId: null },
      teamId: event.teamId,
      action: 'badge-events.approve',
      target: String(event.id),
      detail: { codes: free.length },
    })
  })
}
