import type { Queries } from '../database/database.ts'

export interface ReservationFilter {
  teamId?: number | undefined
  uid?: string | undefined
  /** Only with a smaller ID. */
  before?: number | undefined
  limit: number
}

/** Kept ones, newest first, each with its newest mail. */
export function keptReservations(
  db: Queries,
  { teamId, uid, before, limit }: ReservationFilter,
  now: string,
) {
  const rows = db
    .selectFrom('reservations')
    .select(['tapId', 'chipUid', 'teamId', 'claims', 'left', 'keptAt', 'endsAt'])
    .select((e) => {
      const newest = e.selectFrom('mails').whereRef('mails.tapId', '=', 'reservations.tapId')
      const one = (column: 'sentAt' | 'failedAt') => newest.select(column).orderBy('id', 'desc').limit(1)
      return [one('sentAt').as('sentAt'), one('failedAt').as('failedAt')]
    })
    .where('state', '=', 'kept')
    .where('endsAt', '>', now)
    .orderBy('tapId', 'desc')
    .limit(limit)
    .$if(teamId !== undefined, (query) => query.where('teamId', '=', teamId ?? 0))
    .$if(uid !== undefined, (query) => query.where('chipUid', '=', uid ?? ''))
    .$if(before !== undefined, (query) => query.where('tapId', '<', before ?? 0))
  return rows.execute()
}
