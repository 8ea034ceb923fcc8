import { newBatchId } from '../../../values/batch.ts'
import { stringifyExact } from '../../../values/json.ts'
import {
  addBatchBytes,
  type BatchRow,
  changeBatch,
  countPieces,
  findBatch,
  findPiece,
  insertBatch,
  insertPiece,
  type NamedBatch,
  undosOf,
} from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { type BatchCaller, batchToRun, emptyBatch, kindOf, runOf } from './batches.ts'
import type { BatchDeps } from './kind.ts'
import { assertRoom, openPiece, sealLines } from './pieces.ts'

type Deps = Pick<BatchDeps, 'db' | 'clock' | 'box'>

type BatchStarter = Pick<BatchRow, 'startedBy' | 'startedById' | 'scopes' | 'host' | 'context'>

/**
 * Creates the undo batch of a batch, last rows first, or returns the existing one.
 * @throws DomainError not_found, scope_missing, too_large, conflict if it runs, is undone, or cannot be undone
 */
export async function undoBatch(
  deps: Deps,
  caller: BatchCaller,
  idOrName: string,
  from: { host?: string | undefined; context?: string | undefined },
): Promise<NamedBatch> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  const beginner = {
    ...{
      startedBy: caller.actor.name,
      startedById: caller.credential,
      scopes: JSON.stringify(caller.scopes),
    },
    ...{ host: from.host ?? null, context: from.context ?? null },
  }
  const undo = await makeUndo(deps, batch, beginner)
  const undoing = await findBatch(deps.db.read, undo)
  if (!undoing) throw notFound('batch')
  return undoing
}

const mayBeUndone: readonly BatchRow['state'][] = ['done', 'paused', 'failed', 'cancelled']

function assertMayBeUndone({ id, state }: BatchRow): void {
  if (mayBeUndone.includes(state)) return
  throw conflict(
    state === 'undone'
      ? `Batch ${id} has been undone already.`
      : `Batch ${id} is ${state}. Undo it once it is done or paused.`,
  )
}

const unstarted = ['uploading', 'planned'] as const
const isUnstarted = ({ state }: BatchRow) => unstarted.some((one) => one === state)

const cancelUnstarted = (trx: Queries, id: string, at: string) =>
  changeBatch(trx, id, { states: unstarted }, { state: 'cancelled', endedAt: at, touchedAt: at })

/** A batch that continues invalidates an undo prepared earlier. @throws DomainError conflict if it is being undone */
export async function dropUndos(trx: Queries, id: string, at: string): Promise<void> {
  for (const undo of await undosOf(trx, id)) {
    if (isUnstarted(undo)) await cancelUnstarted(trx, undo.id, at)
    else if (undo.state === 'running' || undo.state === 'paused' || undo.state === 'failed')
      throw conflict(`Batch ${id} is being undone by batch ${undo.id}, so it cannot be resumed.`)
  }
}

/** @returns its ID @throws DomainError conflict, too_large */
export async function makeUndo(deps: Deps, batch: BatchRow, beginner: BatchStarter): Promise<string> {
  const { undo } = kindOf(batch.kind)
  if ('refusal' in undo)
    throw conflict([undo.refusal, undo.advice?.replace('BATCH', batch.id) ?? []].flat().join(' '))
  assertMayBeUndone(batch)
  const id = await beginUndo(deps, batch, beginner)
  while (await addPiece(deps, batch, id));
  return id
}

async function beginUndo(
  { db, clock }: Deps,
  batch: BatchRow,
  { startedBy, startedById, scopes, host, context }: BatchStarter,
): Promise<string> {
  const { undo } = kindOf(batch.kind)
  if ('refusal' in undo) throw conflict(undo.refusal)
  const now = clock.now()
  const at = iso(now)
  return db.write(async (trx) => {
    // It may have been resumed in the meantime.
    assertMayBeUndone((await findBatch(trx, batch.id)) ?? batch)
    for (const known of await undosOf(trx, batch.id)) {
      if (known.state === 'cancelled' || known.state === 'undone') continue
      if (!isUnstarted(known) || known.startedById === startedById) return known.id
      // Its rows would run with somebody else's scopes.
      await cancelUnstarted(trx, known.id, at)
    }
    await assertRoom(trx, batch.teamId)
    const id = newBatchId(now)
    const about = { id, teamId: batch.teamId, kind: undo.kind, name: null, note: null }
    const times = { at: null, until: null, createdAt: at, touchedAt: at }
    const settings = JSON.stringify(undo.settings?.(runOf(batch)) ?? {})
    // An upper limit of the rows; reading them all gives the exact number.
    const total = batch.changed + batch.unchanged + batch.failed + batch.conflict
    await insertBatch(trx, {
      ...{ ...emptyBatch, ...about, ...times, settings, total, rate: batch.rate },
      ...{ startedBy, startedById, scopes, host, context, isProposed: 0, rowsHash: '', undoes: batch.id },
    })
    return id
  })
}

/** Minimum number of rows per write. */
const rowsOfOneWrite = 25

/** @returns false if all rows are copied */
async function addPiece({ db, clock, box }: Deps, batch: BatchRow, id: string): Promise<boolean> {
  const undoing = await findBatch(db.read, id)
  if (undoing?.state !== 'uploading') return false
  const { uploaded, nextPiece, teamId } = undoing
  const source = (await countPieces(db.read, batch.id)) - 1 - nextPiece
  const stored = source < 0 ? undefined : await findPiece(db.read, batch.id, source)
  const where = { states: ['uploading'], uploaded, nextPiece } as const
  const touchedAt = iso(clock.now())
  if (!stored) {
    if (undoing.total > uploaded)
      await db.write((trx) => changeBatch(trx, id, where, { total: uploaded, touchedAt }))
    return false
  }
  const kind = kindOf(batch.kind)
  const { undo } = kind
  if ('refusal' in undo) return false
  const { rows, results } = openPiece(box, kind, runOf(batch), stored)
  const lines = rows
    .flatMap((row, at) => {
      const kept = results[at]
      return (kept && undo.row(row, kept.result)) ?? []
    })
    .map((line) => stringifyExact(line))
  // Last rows first, because a row may need something that a later one took. A few rows are a single write
  // and keep their order.
  if (lines.length > rowsOfOneWrite) lines.reverse()
  const sealed = sealLines(box, { id, piece: nextPiece, column: 'rows' }, lines)
  await db.write(async (trx) => {
    await assertRoom(trx, teamId, sealed.length)
    const change = { uploaded: uploaded + lines.length, nextPiece: nextPiece + 1, touchedAt }
    // A concurrent request may have been first.
    if (!(await changeBatch(trx, id, where, change))) return
    const piece = { batchId: id, piece: nextPiece, count: lines.length, rows: sealed }
    await insertPiece(trx, { ...piece, plan: null, results: null })
    await addBatchBytes(trx, id, sealed.length)
  })
  return true
}
