import { claimBefore, claimsByHour } from '../../store/badge-events/claim-rates.ts'
import { recentOfKind } from '../../store/chain/recent-transactions.ts'
import type { Db } from '../../store/database/database.ts'
import { owed } from '../deployments/guestbook-records.ts'
import { type Clock, iso } from '../time/time.ts'

interface Deps {
  db: Pick<Db, 'slow'>
  clock: Pick<Clock, 'now'>
}

/** An event's claims or mints. */
interface EventRate {
  id: number
  lastHour: number
  /** As `hours`. */
  byHour: number[]
}

export interface EventRates {
  /** When the last 24 hours of the clock began, oldest first. */
  hours: string[]
  badgeEvents: EventRate[]
  guestbooks: EventRate[]
  /** False: only the newest are counted. */
  isComplete: boolean
}

const hourMs = 3_600_000
const hoursShown = 24
/** Rows that are looked at, so that an event with millions costs no more. */
const maxClaims = 20_000
const maxTransactions = 10_000

/** @param teamId undefined: of all teams */
export async function eventRates({ db, clock }: Deps, teamId: number | undefined): Promise<EventRates> {
  const now = clock.now()
  const first = Math.floor(now / hourMs) * hourMs - (hoursShown - 1) * hourMs
  const hours = Array.from({ length: hoursShown }, (_, at) => iso(first + at * hourMs))
  const since = iso(first)
  const recent = iso(now - hourMs)
  const badges = new Rates(hours)
  for (const row of await claimsByHour(db.slow, { teamId, since, recent, limit: maxClaims }))
    badges.add(row.badgeEventId, { hour: row.hour, count: row.claims, recent: row.recent })
  const earlier = await claimBefore(db.slow, maxClaims)
  const window = { teamId, kind: owed.mint, since, limit: maxTransactions }
  const minted = await recentOfKind(db.slow, window)
  const guestbooks = new Rates(hours)
  for (const { subject, createdAt } of minted.rows) {
    // Stored by recordMintOf.
    const { eventId }: { eventId: number } = JSON.parse(subject)
    const mint = { hour: createdAt.slice(0, 13), count: 1, recent: createdAt >= recent ? 1 : 0 }
    guestbooks.add(eventId, mint)
  }
  return {
    hours,
    badgeEvents: badges.all(),
    guestbooks: guestbooks.all(),
    isComplete: minted.isComplete && (earlier === undefined || earlier < since),
  }
}

class Rates {
  readonly #rates = new Map<number, EventRate>()
  readonly #index: ReadonlyMap<string, number>

  constructor(hours: readonly string[]) {
    this.#index = new Map(hours.map((hour, at) => [hour.slice(0, 13), at]))
  }

  add(id: number, { hour, count, recent }: { hour: string; count: number; recent: number }): void {
    const at = this.#index.get(hour)
    if (at === undefined) return
    const rate = this.#rates.get(id) ?? { id, lastHour: 0, byHour: Array(this.#index.size).fill(0) }
    rate.byHour[at] = (rate.byHour[at] ?? 0) + count
    rate.lastHour += recent
    this.#rates.set(id, rate)
  }

  all = (): EventRate[] => [...this.#rates.values()]
}
