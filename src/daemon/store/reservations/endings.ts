import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'
import { giveBackBadges } from './kept-badges.ts'
import { forgotten } from './reservations.ts'

/** Ends what was not named in time, and codes that were not entered; the addresses are forgotten. */
export const endReservations = (
  db: Queries,
  { now, unconfirmed, limit }: { now: string; unconfirmed: string; limit: number },
): Promise<number> =>
  affected(
    db
      .updateTable('reservations')
      .set({ state: 'ended', endedAt: now, ...forgotten })
      .where('tapId', 'in', (of) =>
        of
          .selectFrom('reservations')
          .select('tapId')
          .where((e) =>
            e.or([
              e.and([e('state', '=', 'kept'), e('endsAt', '<=', now)]),
              e.and([e('state', '=', 'asked'), e('codeUntil', '<=', unconfirmed)]),
            ]),
          )
          .limit(limit),
      ),
  )

/** Something else has ended it: a transfer, another token, a chip that was disabled or removed, a tap that is gone. */
const overtaken = (db: Queries) =>
  db
    .selectFrom('reservations')
    .leftJoin('chips', 'chips.uid', 'reservations.chipUid')
    .select('reservations.tapId')
    .where('reservations.state', '=', 'kept')
    .where((e) =>
      e.or([
        e('chips.uid', 'is', null),
        // Its codes went with its tap: taps are stored for less time than when it was kept.
        e('reservations.tapId', '<', (of) => of.selectFrom('taps').select((m) => m.fn.min('id').as('first'))),
        e('reservations.tapId', '<=', e.fn.coalesce('chips.endedTap', e.lit(-1))),
        e.and([
          e('reservations.claims', '>', 0),
          e('reservations.left', '=', 1),
          e('reservations.round', '!=', e.ref('chips.claimRound')),
        ]),
      ]),
    )

export const isOvertaken = statement<{ tapId: number }>()((db, p) =>
  overtaken(db).where('reservations.tapId', '=', p.tapId),
).exists

export const endOvertaken = (db: Queries, { now, limit }: { now: string; limit: number }): Promise<number> =>
  affected(
    db
      .updateTable('reservations')
      .set({ state: 'ended', endedAt: now, ...forgotten })
      .where('tapId', 'in', overtaken(db).limit(limit)),
  )

/** @returns false if nothing is kept (any more) */
export async function endReservation(db: Queries, tapId: number, now: string): Promise<boolean> {
  const isEnded = await once(
    db
      .updateTable('reservations')
      .set({ state: 'ended', endedAt: now, ...forgotten })
      .where('tapId', '=', tapId)
      .where('state', '=', 'kept'),
  )
  if (isEnded) await giveBackBadges(db, { tapId })
  return isEnded
}

/** Deletes what ended before, with its link. */
export const pruneReservations = (db: Queries, before: string, limit: number): Promise<number> =>
  affected(
    db
      .deleteFrom('reservations')
      .where('tapId', 'in', (of) =>
        of.selectFrom('reservations').select('tapId').where('endedAt', '<', before).limit(limit),
      ),
  )
