import type { SqlBool } from 'kysely'
import { type TappedChip, tapped } from './chips.ts'
import { lastTapBefore } from './clock-set-back.ts'
import { hashCode } from './code-hash.ts'
import type { Queries } from './database.ts'
import type { RefRow } from './schema.ts'
import { named, statement } from './statement.ts'

const insert = statement<RefRow>()((db, p) =>
  db
    .insertInto('refs')
    .values(named(p, ['idHash', 'kind', 'chipUid', 'tapId', 'createdAt', 'expiresAt', 'queriedAt'])),
)
/** A ref with the chip of its tap. */
export interface RefOfChip extends TappedChip, Pick<RefRow, 'kind' | 'tapId' | 'expiresAt' | 'queriedAt'> {
  /** Its tap was before the clock was last set back. */
  isEnded: SqlBool
}

const byId = statement<{ idHash: string }>()((db, p) =>
  tapped(db)
    .innerJoin('refs', 'refs.chipUid', 'chips.uid')
    .select(['refs.kind', 'refs.tapId', 'refs.expiresAt', 'refs.queriedAt'])
    .select((e) => e('refs.tapId', '<=', lastTapBefore).as('isEnded'))
    .where('refs.idHash', '=', p.idHash),
)
const take = statement<{ idHash: string; now: string }>()((db, p) =>
  db
    .updateTable('refs')
    .set({ queriedAt: p.now })
    .where('idHash', '=', p.idHash)
    .where('queriedAt', 'is', null)
    .where('expiresAt', '>', p.now)
    .where('tapId', '>', lastTapBefore),
)
const end = statement<{ chipUid: string; now: string }>()((db, p) =>
  db
    .updateTable('refs')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('expiresAt', '>', p.now),
)

export const insertRef = (
  db: Queries,
  id: string,
  ref: Omit<RefRow, 'idHash' | 'queriedAt'>,
): Promise<number> => insert.run(db, { ...ref, idHash: hashCode(id), queriedAt: null })

export const findRef = (db: Queries, id: string): Promise<RefOfChip | undefined> =>
  byId.first(db, { idHash: hashCode(id) })

/** Uses a ref up: true for one caller alone, while it is neither queried nor expired. */
export const takeRef = async (db: Queries, id: string, now: string): Promise<boolean> =>
  (await take.run(db, { idHash: hashCode(id), now })) === 1

/** Ends every ref of a chip that is still good. */
export const endRefsOfChip = (db: Queries, chipUid: string, now: string) => end.run(db, { chipUid, now })
