import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import { endReservation } from '../../store/reservations/endings.ts'
import { keptReservations, type ReservationFilter } from '../../store/reservations/listing.ts'
import { findReservation } from '../../store/reservations/reservations.ts'
import { notFound, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

type Deps = { db: Db; clock: Clock }

/** Kept for somebody; nobody is shown for whom. */
export interface KeptReservation {
  id: number
  teamId: number
  uid: string
  /** Nobody else can claim the token. */
  claim: boolean
  left: number
  /** The newest mail about it. */
  mail: 'queued' | 'sent' | 'failed'
  /** ISO 8601 */
  keptAt: string
  endsAt: string
}

/** Newest first. */
export async function listReservations(
  { db, clock }: { db: Pick<Db, 'read'>; clock: Clock },
  filter: ReservationFilter,
): Promise<KeptReservation[]> {
  const rows = await keptReservations(db.read, filter, iso(clock.now()))
  return rows.map(({ tapId, chipUid, teamId, claims, left, keptAt, endsAt, sentAt, failedAt }) => ({
    ...{ id: tapId, uid: chipUid, teamId, left, claim: claims === 1 },
    ...{ keptAt: keptAt ?? '', endsAt: endsAt ?? '' },
    mail: failedAt !== null ? 'failed' : sentAt === null ? 'queued' : 'sent',
  }))
}

/** Ends it at once, and forgets the address. @throws DomainError not_found, also once it has ended */
export async function releaseReservation({ db, clock }: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const { teamId, chipUid } = ownOf(actor, await findReservation(trx, { tapId: id }), 'reservation')
    if (!(await endReservation(trx, id, at))) throw notFound('reservation')
    await recordChange(trx, {
      ...{ at, actor, teamId, action: 'reservations.release', target: chipUid },
      ...{ detail: { tap: id }, chips: [chipUid] },
    })
  })
}
