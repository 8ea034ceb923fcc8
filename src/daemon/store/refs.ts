import { type TappedChip, tapped } from './chips.ts'
import type { Queries } from './database.ts'
import type { RefRow } from './schema.ts'
import { named, statement } from './statement.ts'

const insert = statement<RefRow>()((db, p) =>
  db
    .insertInto('refs')
    .values(named(p, ['id', 'kind', 'chipUid', 'tapId', 'linkId', 'createdAt', 'expiresAt', 'queriedAt'])),
)
/** A ref with the chip of its tap. */
export interface RefOfChip extends TappedChip, Pick<RefRow, 'kind' | 'tapId' | 'expiresAt' | 'queriedAt'> {}

const byId = statement<{ id: string }>()((db, p) =>
  tapped(db)
    .innerJoin('refs', 'refs.chipUid', 'chips.uid')
    .select(['refs.kind', 'refs.tapId', 'refs.expiresAt', 'refs.queriedAt'])
    .where('refs.id', '=', p.id),
)
const take = statement<{ id: string; now: string }>()((db, p) =>
  db
    .updateTable('refs')
    .set({ queriedAt: p.now })
    .where('id', '=', p.id)
    .where('queriedAt', 'is', null)
    .where('expiresAt', '>', p.now),
)
const end = statement<{ chipUid: string; now: string }>()((db, p) =>
  db
    .updateTable('refs')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('expiresAt', '>', p.now),
)

export const insertRef = (db: Queries, ref: Omit<RefRow, 'queriedAt'>) =>
  insert.run(db, { ...ref, queriedAt: null })

export const findRef = (db: Queries, id: string): Promise<RefOfChip | undefined> => byId.first(db, { id })

/** Uses a ref up: true for one caller alone, while it is neither queried nor expired. */
export const takeRef = async (db: Queries, id: string, now: string): Promise<boolean> =>
  (await take.run(db, { id, now })) === 1

/** Ends every ref of a chip that is still good. */
export const endRefsOfChip = (db: Queries, chipUid: string, now: string) => end.run(db, { chipUid, now })

const ofTap = statement<{ tapId: number }>()((db, p) =>
  db.selectFrom('refs').selectAll().where('tapId', '=', p.tapId),
)

export const refsOfTap = (db: Queries, tapId: number): Promise<RefRow[]> => ofTap.all(db, { tapId })
