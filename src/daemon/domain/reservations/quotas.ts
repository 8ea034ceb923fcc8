import type { Queries } from '../../store/database/database.ts'
import { countMail, quotaEnd } from '../../store/reservations/mails.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'

const hour = 3_600_000
const day = 24 * hour

/** Mails that can be asked for: whoever asks, an address gets few, and a team's chips cannot be made to flood anyone. */
const quotas = {
  address: { max: 5, withinMs: hour },
  // A poster's visitors share its chip, and a tap gets five.
  chip: { max: 60, withinMs: hour },
  client: { max: 60, withinMs: hour },
  team: { max: 5000, withinMs: day },
} as const

interface Asker {
  addressHash: string
  chipUid: string
  /** Of the client's network address. */
  clientHash: string
  teamId: number
}

/**
 * Counts a mail within the write that queues it. @throws DomainError rate_limited; the write is undone, so nothing is
 * counted
 */
export async function countMailOf(
  trx: Queries,
  { addressHash, chipUid, clientHash, teamId }: Asker,
  now: number,
): Promise<void> {
  const keys = { team: String(teamId), chip: chipUid, client: clientHash, address: addressHash }
  for (const what of ['team', 'chip', 'client', 'address'] as const) {
    const { max, withinMs } = quotas[what]
    const key = `${what} ${keys[what]}`
    if (await countMail(trx, { key, until: iso(now + withinMs), now: iso(now), max })) continue
    const until = await quotaEnd(trx, key)
    const waitMs = until === undefined ? withinMs : Date.parse(until) - now
    throw new DomainError(
      'rate_limited',
      'Too many mails were asked for. Nothing was sent; try again later.',
      {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      },
    )
  }
}
