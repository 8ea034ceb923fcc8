import type { ExpressionBuilder, Insertable, Selectable } from 'kysely'
import type { Queries } from './database.ts'
import type { BatchChunksTable, BatchJournalsTable, Database } from './schema.ts'
import { affected, statement } from './statement.ts'

export type BatchJournalRow = Selectable<BatchJournalsTable>
export type ChunkRow = Selectable<BatchChunksTable>

const byId = statement<{ id: string }>()((db, p) =>
  db.selectFrom('batchJournals').selectAll().where('id', '=', p.id),
)
export const findBatch = (db: Queries, id: string): Promise<BatchJournalRow | undefined> =>
  byId.first(db, { id })

/** @returns false if the batch is there already */
export const insertBatch = async (db: Queries, batch: Insertable<BatchJournalsTable>): Promise<boolean> =>
  (await affected(
    db
      .insertInto('batchJournals')
      .values(batch)
      .onConflict((c) => c.column('id').doNothing()),
  )) === 1

/** Newest first, since ids sort by time. */
export const listBatches = (
  db: Queries,
  { teamId, id, limit }: { teamId?: number | undefined; id?: string | undefined; limit: number },
) => {
  let query = db
    .selectFrom('batchJournals')
    .leftJoin('teams', 'teams.id', 'batchJournals.teamId')
    .selectAll('batchJournals')
    .select('teams.name as team')
    .orderBy('batchJournals.id', 'desc')
    .limit(limit)
  if (teamId !== undefined) query = query.where('batchJournals.teamId', '=', teamId)
  if (id !== undefined) query = query.where('batchJournals.id', '=', id)
  return query.execute()
}

interface Unheard {
  since: string
  until: string
  gone?: number
}

/** Nobody runs it: its holder stopped, was heard outside of the two times, or has the lease that is `gone`. */
const isFree =
  ({ since, until, gone = 0 }: Unheard) =>
  (eb: ExpressionBuilder<Database, 'batchJournals'>) =>
    eb.or([
      eb('state', '!=', 'running'),
      eb('heardAt', '<', since),
      eb('heardAt', '>', until),
      eb('lease', '=', gone),
    ])

type Held = Pick<BatchJournalsTable, 'host' | 'place' | 'context' | 'holder' | 'heardAt'>

/** @param unheard undefined: whoever holds it @returns false if another process holds it */
export const takeBatch = async (
  db: Queries,
  id: string,
  held: Held,
  unheard: Unheard | undefined,
): Promise<boolean> => {
  let query = db
    .updateTable('batchJournals')
    .set((eb) => ({ ...held, state: 'running', lease: eb('lease', '+', 1) }))
    .where('id', '=', id)
  if (unheard) query = query.where(isFree(unheard))
  return (await affected(query)) === 1
}

type Progress = Pick<BatchJournalsTable, 'id' | 'holder' | 'heardAt' | 'state' | 'done' | 'failed'>

/** @returns false if another process holds it, or its journal does not end at `offset` */
export const hearBatch = async (
  db: Queries,
  { id, holder, ...heard }: Progress,
  chunk: { offset: number; bytes: number; stored: number } | undefined,
): Promise<boolean> => {
  let query = db.updateTable('batchJournals').set(heard).where('id', '=', id).where('holder', '=', holder)
  if (chunk)
    query = query
      .set((eb) => ({
        length: eb('length', '+', chunk.bytes),
        stored: eb('stored', '+', chunk.stored),
      }))
      .where('length', '=', chunk.offset)
  return (await affected(query)) === 1
}

/** Its journal begins anew. */
export const emptyBatch = async (db: Queries, id: string): Promise<void> => {
  await db.deleteFrom('batchChunks').where('batchId', '=', id).execute()
  await db.updateTable('batchJournals').set({ length: 0, stored: 0 }).where('id', '=', id).execute()
}

export const insertChunk = (db: Queries, chunk: Insertable<BatchChunksTable>) =>
  db.insertInto('batchChunks').values(chunk).execute()

export const nextChunk = (db: Queries, batchId: string, offset: number): Promise<ChunkRow | undefined> =>
  db
    .selectFrom('batchChunks')
    .selectAll()
    .where('batchId', '=', batchId)
    .where('offset', '>=', offset)
    .orderBy('offset')
    .limit(1)
    .executeTakeFirst()

/** @param teamId null: operators */
export const sizeOfBatches = async (
  db: Queries,
  teamId: number | null,
): Promise<{ count: number; stored: number }> => {
  const { count, stored } = await db
    .selectFrom('batchJournals')
    .select((eb) => [eb.fn.countAll().as('count'), eb.fn.sum('stored').as('stored')])
    .where('teamId', teamId === null ? 'is' : '=', teamId)
    .executeTakeFirstOrThrow()
  return { count: Number(count), stored: Number(stored ?? 0) }
}

/** @returns false if a process that was heard since then is running it */
export const deleteBatch = async (
  db: Queries,
  id: string,
  unheard: Pick<Unheard, 'since' | 'until'>,
): Promise<boolean> =>
  (await affected(db.deleteFrom('batchJournals').where('id', '=', id).where(isFree(unheard)))) === 1

/** @param which all, those that are complete, or those without a journal @returns how many were deleted */
export const pruneBatches = async (
  db: Queries,
  { heardBefore, which, limit }: { heardBefore: string; which: 'all' | 'done' | 'empty'; limit: number },
): Promise<number> => {
  let oldest = db
    .selectFrom('batchJournals')
    .select('id')
    .where('heardAt', '<', heardBefore)
    .orderBy('heardAt')
    .limit(limit)
  if (which === 'done') oldest = oldest.where('state', '=', 'done')
  if (which === 'empty') oldest = oldest.where('length', '=', 0)
  const ids = (await oldest.execute()).map(({ id }) => id)
  if (ids.length === 0) return 0
  return affected(db.deleteFrom('batchJournals').where('id', 'in', ids))
}
