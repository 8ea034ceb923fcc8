import { hash } from 'node:crypto'
import type { SqlBool } from 'kysely'
import { type TappedChip, tapped } from './chips.ts'
import { lastTapBefore } from './clock-set-back.ts'
import type { Queries } from './database.ts'
import type { RefRow } from './schema.ts'
import { named, statement } from './statement.ts'

const insert = statement<RefRow>()((db, p) =>
  db
    .insertInto('refs')
    .values(named(p, ['idHash', 'kind', 'chipUid', 'tapId', 'createdAt', 'expiresAt', 'queriedAt'])),
)
export interface RefOfChip
  extends TappedChip,
    Pick<RefRow, 'kind' | 'tapId' | 'createdAt' | 'expiresAt' | 'queriedAt'> {
  /** True if the tap was before the clock was last set back. */
  isEnded: SqlBool
}

const byId = statement<{ idHash: string }>()((db, p) =>
  tapped(db)
    .innerJoin('refs', 'refs.chipUid', 'chips.uid')
    .select(['refs.kind', 'refs.tapId', 'refs.createdAt', 'refs.expiresAt', 'refs.queriedAt'])
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

/** Atomic. @returns false if the ref was already queried or has expired */
export const takeRef = async (db: Queries, id: string, now: string): Promise<boolean> =>
  (await take.run(db, { idHash: hashCode(id), now })) === 1

export const endRefsOfChip = (db: Queries, chipUid: string, now: string) => end.run(db, { chipUid, now })

/** Backups must not contain usable codes. They are long and random, so a plain hash is enough. */
export const hashCode = (code: string): string => hash('sha256', code, 'base64url')
