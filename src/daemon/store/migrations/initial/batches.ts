import type { Kysely } from 'kysely'
import { optional, required, strictClustered } from '../columns.ts'

/** Batches that the daemon runs. */
export async function batches(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('batches')
    .addColumn('id', 'text', (c) => c.primaryKey().notNull())
    .addColumn('teamId', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .$call(required('text', 'kind state startedBy startedById scopes settings rowsHash createdAt touchedAt'))
    .$call(
      optional(
        'text',
        'name approvedBy note at until host context undoes plan error auditHead startedAt endedAt',
      ),
    )
    .$call(optional('integer', 'rate lateSeconds'))
    .$call(
      required(
        'integer',
        'isProposed total uploaded pass nextPiece nextRow changed unchanged failed conflict stored',
      ),
    )
    .modifyEnd(strictClustered)
    .execute()
  await db.schema.createIndex('batchesOfTeam').on('batches').columns(['teamId', 'id']).execute()
  await db.schema.createIndex('batchNames').unique().on('batches').columns(['teamId', 'name']).execute()
  // The loop asks for those that are to run.
  await db.schema.createIndex('batchesByState').on('batches').columns(['state', 'id']).execute()
  await db.schema.createIndex('batchesByUntil').on('batches').columns(['until']).execute()
  await db.schema.createIndex('undosOfBatch').on('batches').columns(['undoes']).execute()
  await db.schema
    .createTable('batchPieces')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batches.id').onDelete('cascade'))
    .$call(required('integer', 'piece count'))
    .$call(required('blob', 'rows'))
    .$call(optional('blob', 'plan results'))
    .addPrimaryKeyConstraint('batchPiecesKey', ['batchId', 'piece'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createTable('batchFiles')
    .addColumn('batchId', 'text', (c) => c.notNull().references('batches.id').onDelete('cascade'))
    .$call(required('text', 'hash type'))
    .$call(required('blob', 'data'))
    .addPrimaryKeyConstraint('batchFilesKey', ['batchId', 'hash'])
    .modifyEnd(strictClustered)
    .execute()
}
