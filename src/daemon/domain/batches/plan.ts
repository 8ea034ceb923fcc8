import { stringifyExact } from '../../../values/json.ts'
import { TimeSlice } from '../../../values/time-slices.ts'
import {
  addBatchBytes,
  type BatchRow,
  changeBatch,
  type NamedBatch,
  updatePiece,
} from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'
import { conflict } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertBegan, type BatchCaller, batchToRun, runOf } from './batches.ts'
import type { BatchDeps, BatchKind, BatchRun, RowResult } from './kind.ts'
import { assertRoom, openPiece, piecesOfBatch, sealLines } from './pieces.ts'

export type PlanLine = RowResult | { totals: Readonly<Record<string, number>>; costs?: object | undefined }

const mayBePlanned = ['uploading', 'planned'] as const

/** @throws DomainError conflict if rows are missing */
export function assertUploaded({ id, uploaded, total }: NamedBatch): void {
  if (uploaded < total)
    throw conflict(`Batch ${id} has ${uploaded} of its ${total} rows. Upload the others first.`)
}

/**
 * Plans a batch and stores what each row would do. A state that changes before the row is handled makes it a
 * conflict.
 * @returns a result per row, and the totals @throws DomainError not_found, scope_missing, conflict
 */
export async function planBatch(
  deps: BatchDeps,
  caller: BatchCaller,
  idOrName: string,
): Promise<AsyncGenerator<PlanLine>> {
  const { batch, kind } = await batchToRun(deps.db.read, caller, idOrName)
  assertBegan(caller, batch)
  assertUploaded(batch)
  if (!mayBePlanned.some((state) => state === batch.state)) throw noLonger(batch.id)
  return plan(deps, batch, kind)
}

const noLonger = (id: string) =>
  conflict(`Batch ${id} was started or planned again in the meantime, so this plan is no longer valid.`)

async function* plan(deps: BatchDeps, batch: NamedBatch, kind: BatchKind): AsyncGenerator<PlanLine> {
  const { db, clock, box } = deps
  const { id } = batch
  const run = runOf(batch)
  // Plans are numbered, so that they cannot mix: approval is for the totals of one plan.
  const updateIfOwned = async (trx: Queries, nextRow: number, change: Partial<BatchRow>) => {
    if (await changeBatch(trx, id, { states: mayBePlanned, nextRow }, change)) return
    throw noLonger(id)
  }
  const totals: Record<string, number> = {}
  const add = (name: string, count: number) => {
    totals[name] = (totals[name] ?? 0) + count
  }
  const seen = new Map<string, number>()
  const slice = new TimeSlice()
  const begun = { plan: null, nextRow: batch.nextRow + 1, touchedAt: iso(clock.now()) }
  await db.write((trx) => updateIfOwned(trx, batch.nextRow, begun))
  for await (const stored of piecesOfBatch(db.read, id)) {
    const { piece, rows } = openPiece(box, kind, run, { ...stored, plan: null })
    const results = rows.length === 0 ? [] : await kind.plan(deps, run, rows, seen)
    for (const { status } of results) add(status, 1)
    for (const [name, count] of Object.entries(kind.totals?.(rows, results) ?? {})) add(name, count)
    const sealed = sealLines(
      box,
      { id, piece, column: 'plan' },
      results.map((result) => stringifyExact(result)),
    )
    const grown = sealed.length - (stored.plan?.length ?? 0)
    await db.write(async (trx) => {
      if (grown > 0) await assertRoom(trx, batch.teamId, grown)
      await updateIfOwned(trx, begun.nextRow, { touchedAt: iso(clock.now()) })
      await updatePiece(trx, id, piece, { plan: sealed })
      await addBatchBytes(trx, id, grown)
    })
    yield* results
    await slice.next()
  }
  const costs = await kind.costs?.(deps, run, planOf(deps, batch, kind, run))
  const known = { state: 'planned', plan: JSON.stringify(totals), touchedAt: iso(clock.now()) } as const
  await db.write((trx) => updateIfOwned(trx, begun.nextRow, known))
  yield costs === undefined ? { totals } : { totals, costs }
}

async function* planOf(
  { db, box }: BatchDeps,
  { id }: NamedBatch,
  kind: BatchKind,
  run: BatchRun,
): AsyncGenerator<readonly RowResult[]> {
  for await (const stored of piecesOfBatch(db.read, id)) yield openPiece(box, kind, run, stored).plan ?? []
}
