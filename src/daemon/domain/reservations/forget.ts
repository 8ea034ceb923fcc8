import type { Queries } from '../../store/database/database.ts'
import { endOvertaken, endReservations, pruneReservations } from '../../store/reservations/endings.ts'
import { giveBackBadges } from '../../store/reservations/kept-badges.ts'
import { pruneMails, pruneQuotas } from '../../store/reservations/mails.ts'
import { iso } from '../time/time.ts'

const hour = 3_600_000
const dayMs = 24 * hour
/** A link that has ended still says so for this long. */
const endedKeptMs = 90 * dayMs
const mailsKeptMs = 7 * dayMs

/**
 * Ends what nobody named a wallet for in time, what something else has ended, and codes that nobody entered. Their
 * addresses are forgotten, and their badges can go to others. @returns the larger number of rows, for calling again
 */
export async function endReservationsInTime(trx: Queries, now: number, limit: number): Promise<number> {
  const times = { now: iso(now), limit }
  const ended = await endReservations(trx, { ...times, unconfirmed: iso(now - hour) })
  const overtaken = await endOvertaken(trx, times)
  return Math.max(ended, overtaken, await giveBackBadges(trx, { limit }))
}

export async function pruneReservationsAndMails(trx: Queries, now: number, limit: number): Promise<number> {
  const pruned = [
    await pruneReservations(trx, iso(now - endedKeptMs), limit),
    await pruneMails(trx, iso(now - mailsKeptMs), limit),
    await pruneQuotas(trx, iso(now), limit),
  ]
  return Math.max(...pruned)
}
