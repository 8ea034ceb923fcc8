import type { ExpressionBuilder } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'
import type { Database, ReservationRow } from '../schema/schema.ts'

type NewReservation = Pick<
  ReservationRow,
  | 'tapId'
  | 'chipUid'
  | 'teamId'
  | 'tokenRow'
  | 'address'
  | 'addressHash'
  | 'language'
  | 'nonce'
  | 'codeUntil'
  | 'createdAt'
>

/**
 * Records that a code is mailed; a later address of the same tap replaces an earlier one.
 * @returns false if it is kept already, or the tap has asked `maxAsks` times
 */
export const askReservation = (db: Queries, row: NewReservation, maxAsks: number): Promise<boolean> => {
  const { address, addressHash, language, nonce, codeUntil } = row
  return once(
    db
      .insertInto('reservations')
      .values({ ...row, state: 'asked', asks: 1, tries: 0, claims: 0, left: 0 })
      .onConflict((conflict) =>
        conflict
          .column('tapId')
          .doUpdateSet((e) => ({
            ...{ address, addressHash, language, nonce, codeUntil, tries: 0 },
            ...{ asks: e('reservations.asks', '+', 1), state: 'asked', endedAt: null },
          }))
          // Also where nobody entered the code before for so long that the address was forgotten.
          .where('reservations.keptAt', 'is', null)
          .where('reservations.asks', '<', maxAsks),
      ),
  )
}

/** Counts an entered code. @returns undefined if none may be entered (any more) */
export const countTry = (
  db: Queries,
  { tapId, now, maxTries }: { tapId: number; now: string; maxTries: number },
): Promise<ReservationRow | undefined> =>
  db
    .updateTable('reservations')
    .set((e) => ({ tries: e('tries', '+', 1) }))
    .where('tapId', '=', tapId)
    .where('state', '=', 'asked')
    .where('tries', '<', maxTries)
    .where('codeUntil', '>', now)
    .returningAll()
    .executeTakeFirst()

/** @returns false if it is not waiting for its code */
export const keepReservation = (
  db: Queries,
  tapId: number,
  kept: Pick<
    ReservationRow,
    'round' | 'tokenRow' | 'claims' | 'left' | 'keptAt' | 'endsAt' | 'nonce' | 'linkHash' | 'holder'
  >,
): Promise<boolean> =>
  once(
    db
      .updateTable('reservations')
      .set({ ...kept, state: 'kept' })
      .where('tapId', '=', tapId)
      .where('state', '=', 'asked'),
  )

export const findReservation = statement<{ tapId: number }>()((db, p) =>
  db.selectFrom('reservations').selectAll().where('tapId', '=', p.tapId),
).first

export const findReservationByLink = statement<{ linkHash: string }>()((db, p) =>
  db.selectFrom('reservations').selectAll().where('linkHash', '=', p.linkHash),
).first

type OfChip = { uid: string; tokenRow: number | null; now: string }

/** The link still leads somewhere: its chip was not disabled, replaced, or set up anew since. */
const isUsable = (e: ExpressionBuilder<Database, 'reservations' | 'chips'>) =>
  e('reservations.tapId', '>', e.fn.coalesce('chips.endedTap', e.lit(-1)))

/** It keeps the claim of a chip or token, and nothing has ended that since. */
const keeping =
  ({ uid, tokenRow, now }: OfChip) =>
  (e: ExpressionBuilder<Database, 'reservations' | 'chips'>) =>
    e.and([
      e.or([e('reservations.chipUid', '=', uid), e('reservations.tokenRow', '=', tokenRow)]),
      e('reservations.state', '=', 'kept'),
      e('reservations.claims', '=', 1),
      e('reservations.endsAt', '>', now),
      e('reservations.round', '=', e.ref('chips.claimRound')),
      isUsable(e),
    ])

const ofPage = statement<OfChip & { tapId: number }>()((db, p) =>
  db
    .selectFrom('reservations')
    .innerJoin('chips', 'chips.uid', 'reservations.chipUid')
    .selectAll('reservations')
    .where((e) => e.or([e('reservations.tapId', '=', p.tapId), keeping(p)(e)]))
    .limit(3),
)
/** The reservation of a tap, and the one that keeps the claim of its chip. */
export const reservationsOfPage = ofPage.all

const keepsClaim = statement<OfChip>()((db, p) =>
  db
    .selectFrom('reservations')
    .innerJoin('chips', 'chips.uid', 'reservations.chipUid')
    .select('reservations.tapId')
    .where(keeping(p)),
)
/** True if the claim of a chip or token is kept for somebody. */
export const isClaimKept = keepsClaim.exists

/** A chip's, or its token's, kept for an address; newest first. */
export const keptForAddress = (
  db: Queries,
  { uid, tokenRow, now, addressHash }: OfChip & { addressHash: string },
): Promise<ReservationRow[]> =>
  db
    .selectFrom('reservations')
    .innerJoin('chips', 'chips.uid', 'reservations.chipUid')
    .selectAll('reservations')
    .where((e) => e.or([e('chipUid', '=', uid), e('reservations.tokenRow', '=', tokenRow)]))
    .where('state', '=', 'kept')
    .where('addressHash', '=', addressHash)
    .where('endsAt', '>', now)
    .where(isUsable)
    .orderBy('tapId', 'desc')
    .limit(3)
    .execute()

/** Something went to a wallet. Forgets the address with the last of it. @returns false if nothing is kept any more */
export async function settleKept(
  db: Queries,
  { tapId, isClaim, now }: { tapId: number; isClaim: boolean; now: string },
): Promise<boolean> {
  const isKept = await once(
    db
      .updateTable('reservations')
      .set((e) => ({ left: e('left', '-', 1), ...(isClaim ? { claims: 0 } : {}) }))
      .where('tapId', '=', tapId)
      .where('state', '=', 'kept')
      .where('left', '>', 0),
  )
  await affected(
    db
      .updateTable('reservations')
      .set({ state: 'done', endedAt: now, ...forgotten })
      .where('tapId', '=', tapId)
      .where('state', '=', 'kept')
      .where('left', '=', 0),
  )
  return isKept
}

export const forgotten = { address: null, addressHash: null }

/** A new mail with another link ends the one before. @returns false if nothing is kept (any more) */
export const replaceLink = (
  db: Queries,
  {
    tapId,
    ...link
  }: Pick<ReservationRow, 'tapId' | 'nonce' | 'linkHash'> & { linkHash: string; before: string },
): Promise<boolean> => {
  const { before, nonce, linkHash } = link
  return once(
    db
      .updateTable('reservations')
      .set({ nonce, linkHash })
      .where('tapId', '=', tapId)
      .where('state', '=', 'kept')
      .where('nonce', '=', before),
  )
}
