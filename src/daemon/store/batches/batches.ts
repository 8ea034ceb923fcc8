import type { Insertable, Selectable, Updateable } from 'kysely'
import type { BatchState } from '../../../values/batch.ts'
import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { BatchesTable, BatchPiecesTable } from '../schema/schema.ts'

export type BatchRow = Selectable<BatchesTable>
export type BatchPieceRow = Selectable<BatchPiecesTable>
/** A batch with the name of its team. */
export type NamedBatch = BatchRow & { team: string }

const withTeam = (db: Queries) =>
  db
    .selectFrom('batches')
    .innerJoin('teams', 'teams.id', 'batches.teamId')
    .selectAll('batches')
    .select('teams.name as team')

export const findBatch = (db: Queries, id: string): Promise<NamedBatch | undefined> =>
  withTeam(db).where('batches.id', '=', id).executeTakeFirst()

/** @param teamId undefined: any team; names are unique per team */
export const batchesNamed = (
  db: Queries,
  name: string,
  teamId: number | undefined,
): Promise<NamedBatch[]> => {
  const query = withTeam(db).where('batches.name', '=', name)
  return (teamId === undefined ? query : query.where('batches.teamId', '=', teamId)).limit(2).execute()
}

interface BatchFilter {
  teamId?: number | undefined
  state?: BatchState | undefined
  limit: number
}

/** Newest first, since IDs sort by time. */
export const listBatches = (db: Queries, { teamId, state, limit }: BatchFilter): Promise<NamedBatch[]> => {
  let query = withTeam(db).orderBy('batches.id', 'desc').limit(limit)
  if (teamId !== undefined) query = query.where('batches.teamId', '=', teamId)
  if (state !== undefined) query = query.where('batches.state', '=', state)
  return query.execute()
}

/** Oldest first. */
export const batchesIn = (db: Queries, state: BatchState, limit: number): Promise<BatchRow[]> =>
  db.selectFrom('batches').selectAll().where('state', '=', state).orderBy('id').limit(limit).execute()

/** Oldest first. @param now ISO 8601 */
export const batchesDue = (db: Queries, now: string, limit: number): Promise<BatchRow[]> =>
  db
    .selectFrom('batches')
    .selectAll()
    .where('state', '=', 'scheduled')
    .where((eb) => eb.or([eb('at', '<=', now), eb('at', 'is', null)]))
    .orderBy('id')
    .limit(limit)
    .execute()

/** Paused or ended batches that nobody is undoing; an undo that was not started does not count. */
const notUndone = (db: Queries) =>
  db
    .selectFrom('batches')
    .selectAll()
    .where('state', 'in', ['done', 'paused', 'failed'])
    .where('startedAt', 'is not', null)
    .where('until', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('batches as undo')
            .select('undo.id')
            .whereRef('undo.undoes', '=', 'batches.id')
            .where('undo.startedAt', 'is not', null),
        ),
      ),
    )

/** Batches whose window has ended, oldest first. @param now ISO 8601 */
export const batchesToUndo = (db: Queries, now: string, limit: number): Promise<BatchRow[]> =>
  notUndone(db).where('until', '<=', now).orderBy('id').limit(limit).execute()

export const isToBeTakenBack = async (db: Queries, id: string): Promise<boolean> =>
  (await notUndone(db).where('id', '=', id).executeTakeFirst()) !== undefined

/** Newest first. */
export const undosOf = (db: Queries, id: string): Promise<BatchRow[]> =>
  db.selectFrom('batches').selectAll().where('undoes', '=', id).orderBy('id', 'desc').execute()

/** @returns false if the team has one of the same name */
export const insertBatch = async (db: Queries, batch: Insertable<BatchesTable>): Promise<boolean> =>
  once(
    db
      .insertInto('batches')
      .values(batch)
      .onConflict((c) => c.columns(['teamId', 'name']).doNothing()),
  )

/** Conditions under which a change is made. */
interface Expected {
  readonly states: readonly BatchState[]
  readonly uploaded?: number
  readonly nextPiece?: number
  readonly nextRow?: number
}

/** @returns false if it is in another state by now */
export const changeBatch = (
  db: Queries,
  id: string,
  { states, uploaded, nextPiece, nextRow }: Expected,
  change: Updateable<BatchesTable>,
): Promise<boolean> => {
  let query = db.updateTable('batches').set(change).where('id', '=', id).where('state', 'in', states)
  if (uploaded !== undefined) query = query.where('uploaded', '=', uploaded)
  if (nextPiece !== undefined) query = query.where('nextPiece', '=', nextPiece)
  if (nextRow !== undefined) query = query.where('nextRow', '=', nextRow)
  return once(query)
}

/** A batch's position. Each write that continues from a position excludes all others that would. */
export type Position = Pick<BatchRow, 'pass' | 'nextPiece' | 'nextRow'>

export interface Advance extends Position {
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  readonly conflict: number
  /** Bytes by which it grows. */
  readonly stored: number
}

/**
 * @param by the batch must be running on behalf of this credential; undefined: any state
 * @returns false if its position has changed
 */
export const advanceBatch = (
  db: Queries,
  { id, pass, nextPiece, nextRow }: Position & { id: string },
  by: string | undefined,
  { changed, unchanged, failed, conflict, stored, ...to }: Advance,
  change: Updateable<BatchesTable>,
): Promise<boolean> => {
  let query = db
    .updateTable('batches')
    .set((eb) => ({
      ...change,
      ...to,
      changed: eb('changed', '+', changed),
      unchanged: eb('unchanged', '+', unchanged),
      failed: eb('failed', '+', failed),
      conflict: eb('conflict', '+', conflict),
      stored: eb('stored', '+', stored),
    }))
    .where('id', '=', id)
    .where('pass', '=', pass)
    .where('nextPiece', '=', nextPiece)
    .where('nextRow', '=', nextRow)
  if (by !== undefined) query = query.where('state', '=', 'running').where('startedById', '=', by)
  return once(query)
}

export const insertPiece = (db: Queries, piece: Insertable<BatchPiecesTable>) =>
  db.insertInto('batchPieces').values(piece).execute()

export const findPiece = (db: Queries, batchId: string, piece: number): Promise<BatchPieceRow | undefined> =>
  db
    .selectFrom('batchPieces')
    .selectAll()
    .where('batchId', '=', batchId)
    .where('piece', '=', piece)
    .executeTakeFirst()

export const countPieces = async (db: Queries, batchId: string): Promise<number> => {
  const { count } = await db
    .selectFrom('batchPieces')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('batchId', '=', batchId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const updatePiece = (
  db: Queries,
  batchId: string,
  piece: number,
  change: Pick<Updateable<BatchPiecesTable>, 'plan' | 'results'>,
) =>
  db
    .updateTable('batchPieces')
    .set(change)
    .where('batchId', '=', batchId)
    .where('piece', '=', piece)
    .execute()

export const addBatchBytes = (db: Queries, id: string, bytes: number) =>
  db
    .updateTable('batches')
    .set((eb) => ({ stored: eb('stored', '+', bytes) }))
    .where('id', '=', id)
    .execute()

export const sizeOfBatches = async (
  db: Queries,
  teamId: number,
): Promise<{ count: number; stored: number }> => {
  const { count, stored } = await db
    .selectFrom('batches')
    .select((eb) => [eb.fn.countAll().as('count'), eb.fn.sum('stored').as('stored')])
    .where('teamId', '=', teamId)
    .executeTakeFirstOrThrow()
  return { count: Number(count), stored: Number(stored ?? 0) }
}

/** Deletes a batch with its pieces and files. @returns false if it is in another state */
export const deleteBatch = (db: Queries, id: string, states: readonly BatchState[]): Promise<boolean> =>
  once(db.deleteFrom('batches').where('id', '=', id).where('state', 'in', states))

interface OldBatches {
  /** Without activity since then. */
  readonly before: string
  readonly states: readonly BatchState[]
  readonly limit: number
}

/** Keeps those that are still to be undone. @returns the number of deleted batches */
export const pruneBatches = async (db: Queries, { before, states, limit }: OldBatches): Promise<number> => {
  const oldest = await db
    .selectFrom('batches')
    .select('id')
    .where('touchedAt', '<', before)
    .where('state', 'in', states)
    .where((eb) => eb.or([eb('until', 'is', null), eb('until', '<', before)]))
    .orderBy('touchedAt')
    .limit(limit)
    .execute()
  if (oldest.length === 0) return 0
  return affected(
    db.deleteFrom('batches').where(
      'id',
      'in',
      oldest.map(({ id }) => id),
    ),
  )
}
