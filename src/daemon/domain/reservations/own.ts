import type { Chains } from '../../chain/chains.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { lastMailOf } from '../../store/reservations/mails.ts'
import { reservationsOfPage } from '../../store/reservations/reservations.ts'
import type { ReservationRow } from '../../store/schema/schema.ts'
import type { TapOfChip } from '../../store/taps/recorded-taps.ts'
import { iso } from '../time/time.ts'
import { endIfMoved } from './holder.ts'
import { maxTries, openAddress } from './secrets.ts'

/** A tap's own reservation, as its page shows it. */
export interface OwnReservation {
  row: ReservationRow
  /** Undefined once it is forgotten. */
  email: string | undefined
  /** Of the newest mail. */
  mail: 'queued' | 'sent' | 'failed'
  triesLeft: number
}

export interface ReservationReadDeps {
  db: Pick<Db, 'read' | 'write'>
  box: SecretBox
  clock: { now(): number }
  chains: Chains
}

/** @returns the tap's own reservation, and whether the claim is kept for somebody else */
export async function reservationsOf(
  deps: ReservationReadDeps,
  tap: TapOfChip,
): Promise<{ own: OwnReservation | undefined; isKeptByOther: boolean }> {
  const { db, box, clock } = deps
  const found = await reservationsOfPage(db.read, chipKey(tap, clock.now()))
  const moved = await Promise.all(found.map((one) => endIfMoved(deps, one, true)))
  const rows = moved.includes(true) ? found.filter((_, index) => !moved[index]) : found
  const row = rows.find(({ tapId }) => tapId === tap.tapId)
  const isKeptByOther = rows.some(({ tapId }) => tapId !== tap.tapId)
  if (!row) return { own: undefined, isKeptByOther }
  const last = await lastMailOf(db.read, { tapId: tap.tapId })
  const own: OwnReservation = {
    row,
    email: row.address === null ? undefined : openAddress(box, tap.tapId, row.address),
    mail: last?.failedAt != null ? 'failed' : last?.sentAt == null ? 'queued' : 'sent',
    triesLeft: row.codeUntil > iso(clock.now()) ? Math.max(0, maxTries - row.tries) : 0,
  }
  return { own, isKeptByOther }
}

/** Finds the reservations of a tap's chip and token. */
export const chipKey = ({ tapId, uid, tokenRow }: TapOfChip, now: number) => ({
  tapId,
  uid,
  tokenRow,
  now: iso(now),
})
