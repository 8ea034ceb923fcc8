import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { type ChipWithEvents, carrying } from '../chips/chips.ts'
import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { Database, TapRow } from '../schema/schema.ts'
import { lastTapBefore } from '../time/clock-set-back.ts'

/** A recorded tap, with the current state of its chip. */
export interface TapOfChip
  extends ChipWithEvents,
    Pick<TapRow, 'at' | 'counter' | 'refsUntil' | 'pageUntil' | 'links' | 'queried' | 'codes'> {
  tapId: number
  /** True if its refs, codes, and page have ended early. */
  isEnded: SqlBool
}

const hasEnded = (e: ExpressionBuilder<Database, 'taps' | 'chips'>) =>
  e.or([e('taps.id', '<=', lastTapBefore), e('taps.id', '<=', e.fn.coalesce('chips.endedTap', e.lit(-1)))])

const ofChip = (db: Queries) =>
  carrying(db)
    .innerJoin('taps', 'taps.chipUid', 'chips.uid')
    .select([
      'taps.id as tapId',
      'taps.at',
      'taps.counter',
      'taps.refsUntil',
      'taps.pageUntil',
      'taps.links',
      'taps.queried',
      'taps.codes',
    ])
    .select((e) => hasEnded(e).as('isEnded'))
    .where('taps.outcome', '=', 'valid')

const byId = statement<{ id: number }>()((db, p) => ofChip(db).where('taps.id', '=', p.id))

const ofCodes = statement<{ id: number }>()((db, p) =>
  db
    .selectFrom('taps')
    .leftJoin('chips', 'chips.uid', 'taps.chipUid')
    .select(['taps.id as tapId', 'taps.at', 'taps.codes', 'taps.chipUid'])
    .select(['chips.teamId', 'chips.claimRound', 'chips.claimsEndedAt', 'chips.endedAt'])
    .select((e) => e.or([hasEnded(e), e('chips.uid', 'is', null)]).as('isEnded'))
    .where('taps.id', '=', p.id),
)

/** Inputs of a tap's codes; `teamId` null: its chip was removed. */
export type TapOfCodes = NonNullable<Awaited<ReturnType<typeof ofCodes.first>>>

export const findTapOfCodes = (db: Queries, id: number): Promise<TapOfCodes | undefined> =>
  ofCodes.first(db, { id })

/** Also undefined if its chip was removed. */
export const findTap = (db: Queries, id: number): Promise<TapOfChip | undefined> => byId.first(db, { id })

// The condition on `queried` ensures that a ref is used once; other data may have changed since the tap was read.
const query = statement<{ id: number; bit: number; now: string; codes: string }>()((db, p) =>
  db
    .updateTable('taps')
    .set({
      queried: sql<number>`queried | ${sql`cast(${p.bit} as bigint)`}`,
      codes: sql<string>`coalesce(codes, '') || ${sql`cast(${p.codes} as text)`}`,
    })
    .where('id', '=', p.id)
    .where(sql<number>`queried & ${sql`cast(${p.bit} as bigint)`}`, '=', 0)
    .where('refsUntil', '>', p.now)
    .where('id', '>', lastTapBefore)
    .where((e) =>
      e(
        'id',
        '>',
        e
          .selectFrom('chips')
          .select((f) => f.fn.coalesce('chips.endedTap', f.lit(-1)).as('ended'))
          .whereRef('chips.uid', '=', 'taps.chipUid'),
      ),
    )
    .returning('codes'),
)

/** Together with the tap's own ref, fewer than the bits of a number. */
export const maxLinks = 50

/**
 * Uses up one ref of a tap for the codes that it makes. Atomic.
 * @param ordinal of the ref @param codes see storedCodes
 * @returns all codes of the tap; undefined if the ref was queried, or has expired
 */
export const queryRefOf = async (
  db: Queries,
  { id, ordinal, now, codes }: { id: number; ordinal: number; now: string; codes: string },
): Promise<string | undefined> =>
  (await query.first(db, { id, bit: 2 ** ordinal, now, codes }))?.codes ?? undefined

const add = statement<{ id: number; codes: string }>()((db, p) =>
  db
    .updateTable('taps')
    .set({ codes: sql<string>`coalesce(codes, '') || ${sql`cast(${p.codes} as text)`}` })
    .where('id', '=', p.id)
    .returning('codes'),
)
/** Makes more codes of a tap. @param codes see storedCodes @returns all codes of the tap */
export const addCodes = async (
  db: Queries,
  tap: { id: number; codes: string },
): Promise<string | undefined> => (await add.first(db, tap))?.codes ?? undefined

const extend = statement<{ id: number; until: string }>()((db, p) =>
  db.updateTable('taps').set({ pageUntil: p.until }).where('id', '=', p.id).where('pageUntil', '<', p.until),
)
/** Never shortens the time. */
export const extendPage = extend.run

/** Filters the given taps to those of the chip. */
export const tapsOf = (
  db: Queries,
  { ids, uid }: { ids: readonly number[]; uid: string },
): Promise<TapOfChip[]> => ofChip(db).where('taps.id', 'in', ids).where('chips.uid', '=', uid).execute()

/** Ends the refs, codes, and pages of all of a chip's taps so far. */
export const endTapsOfChip = (db: Queries, uid: string, now: string) =>
  affected(
    db
      .updateTable('chips')
      .set((e) => ({ endedTap: e.ref('lastTap'), endedAt: now }))
      .where('uid', '=', uid)
      // A chip that was registered again has ended all taps from before.
      .where((e) => e('lastTap', '>', e.fn.coalesce('endedTap', e.lit(-1)))),
  )

/** Ends the codes that claim what a chip carries. Refs that were not queried yet give new ones. */
export const endClaimCodes = (db: Queries, uid: string, now: string) =>
  affected(
    db
      .updateTable('chips')
      .set((e) => ({ claimRound: e('claimRound', '+', 1), claimsEndedAt: now }))
      .where('uid', '=', uid),
  )

/**
 * Ends the claim codes of all chips of a token, because they were issued for its former state, including those that
 * unused refs of earlier taps would give.
 */
export const endClaimsOfToken = (db: Queries, tokenRow: number, now: string) =>
  affected(
    db
      .updateTable('chips')
      .set((e) => ({
        claimRound: e('claimRound', '+', 1),
        claimsEndedAt: now,
        claimsEndedTap: e.fn.coalesce('lastTap', 'claimsEndedTap'),
      }))
      .where('tokenRow', '=', tokenRow),
  )
