import { setImmediate } from 'node:timers/promises'
import type { BadgeCode } from '../../badges/provider.ts'
import { recordChange } from '../../store/audit.ts'
import { codePlace, codesOfEvent, freeCodesCount, insertCodes } from '../../store/badge-codes.ts'
import { countCodesIn, findBadgeEvent, setApproval } from '../../store/badge-events.ts'
import { setPoll } from '../../store/badge-upstream.ts'
import type { Db } from '../../store/database.ts'
import type { BadgeEventRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { type Clock, iso } from '../time.ts'

/** Taps are served between two such steps. */
const aStep = 1_000

type Deps = { db: Db; box: SecretBox; clock: Clock }

/**
 * Keeps the codes that POAP gave, sealed, and says that the event is approved once all of them are there, in one write
 * with when POAP is to be asked next. Those that somebody used already are left out. Codes are only ever added, behind
 * those that are there: cut off in the middle, or called again, it goes on with what is missing.
 * @returns whether the event was not approved before
 */
export async function storeCodes(
  deps: Deps,
  event: BadgeEventRow,
  codes: readonly BadgeCode[],
  poll: Parameters<typeof setPoll>[2],
): Promise<boolean> {
  const { db, box, clock } = deps
  const { known, last } = await knownCodes(deps, event.id)
  const fresh = [...new Set(codes.filter(({ claimed }) => !claimed).map(({ code }) => code))].filter(
    (code) => !known.has(code),
  )
  for (let from = 0; from < fresh.length; from += aStep) {
    const sealed = fresh.slice(from, from + aStep).map((code, index) => {
      const number = last + from + index + 1
      return { number, code: box.seal(Buffer.from(code), codePlace(event.id, number)) }
    })
    await db.write(async (trx) => {
      await insertCodes(trx, event.id, sealed)
      // Before the approval they are counted together with it.
      const { approval } = (await findBadgeEvent(trx, event.id)) ?? event
      if (approval === 'approved') await countCodesIn(trx, event.id, sealed.length)
    })
  }
  return db.write(async (trx) => {
    await setPoll(trx, event.id, poll)
    if ((await findBadgeEvent(trx, event.id))?.approval === 'approved') return false
    const remainingCodes = await freeCodesCount(trx, event.id)
    await setApproval(trx, event.id, { approval: 'approved', remainingCodes })
    await recordChange(trx, {
      at: iso(clock.now()),
      actor: { name: 'daemon', requestId: null },
      teamId: event.teamId,
      action: 'badge-events.approve',
      target: String(event.id),
      detail: { codes: remainingCodes },
    })
    return true
  })
}

async function knownCodes({ db, box }: Deps, badgeEventId: number) {
  const rows = await codesOfEvent(db.read, badgeEventId)
  const known = new Set<string>()
  for (const [index, { number, code }] of rows.entries()) {
    if (index > 0 && index % aStep === 0) await setImmediate()
    known.add(box.open(code, codePlace(badgeEventId, number)).toString())
  }
  return { known, last: rows.at(-1)?.number ?? 0 }
}
