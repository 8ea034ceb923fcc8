import { AdaptiveSize, TimeSlice } from '../../../values/time-slices.ts'
import { recordChange } from '../../store/audit/audit.ts'
import {
  type Advance,
  advanceBatch,
  type BatchRow,
  changeBatch,
  findBatch,
  type Position,
  updatePiece,
} from '../../store/batches/batches.ts'
import { type Queries, rowsPerBatch } from '../../store/database/database.ts'
import { iso } from '../time/time.ts'
import { kindOf, runOf } from './batches.ts'
import { type Due, type DuePage, DueRows, type RowOutcome } from './due-rows.ts'
import type { BatchDeps, BatchKind, BatchRun, RowResult, SentKind, WrittenKind } from './kind.ts'
import { pause, sendRows } from './send.ts'

export interface Running {
  readonly deps: BatchDeps
  /** Aborted when this daemon should stop running the batch. */
  readonly stopped: AbortSignal
  /** Called after each write. */
  moved(): void
  /** @param reason undefined: nothing; the batch continues */
  waitsFor(reason: string | undefined): Promise<void>
}

/** Another daemon has taken over, or the batch no longer runs. */
class Overtaken extends Error {}

/** Runs a batch until it is complete, paused, or taken over. @throws errors of the store or its kind */
export async function runBatch(running: Running, id: string): Promise<void> {
  const batch = await findBatch(running.deps.db.read, id)
  if (batch?.state !== 'running') return
  try {
    await new BatchRunner(running, batch).run()
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
  }
}

// A write interrupted by a kill is repeated; more rows would make that take longer.
const sentPerWrite = 4

class BatchRunner {
  readonly #running: Running
  readonly #deps: BatchDeps
  readonly #batch: BatchRow
  readonly #kind: BatchKind
  readonly #run: BatchRun
  readonly #rows: DueRows
  readonly #pace: AdaptiveSize
  /** In the stored format. */
  #position: Position
  /** When the next rows may be handled, on the monotonic clock. */
  #nextAt: number

  constructor(running: Running, batch: BatchRow) {
    this.#running = running
    this.#deps = running.deps
    this.#batch = batch
    this.#kind = kindOf(batch.kind)
    this.#run = runOf(batch)
    this.#rows = new DueRows(this.#deps, this.#kind, this.#run, batch.isProposed === 1)
    const { pass, nextPiece, nextRow } = batch
    this.#position = { pass, nextPiece, nextRow }
    this.#nextAt = this.#deps.clock.monotonic()
    const bounds = this.#kind.how === 'written' ? this.#kind.rowsPerWrite : { min: 1, max: 1 }
    this.#pace = new AdaptiveSize(rowsPerBatch(this.#deps.db, bounds))
  }

  async run(): Promise<void> {
    const { stopped, moved } = this.#running
    const slice = new TimeSlice()
    for (;;) {
      const early = this.#nextAt - this.#deps.clock.monotonic()
      if (early > 0) await pause(early, stopped)
      const gathered = await this.#rows.gather(this.#position, this.#size(), stopped)
      if (stopped.aborted) return
      if (this.#kind.how === 'sent') await this.#send(this.#kind, gathered)
      else await this.#write(this.#kind, gathered)
      moved()
      if (gathered.isEnd) return
      await slice.next()
    }
  }

  #size(): number {
    const { rate } = this.#batch
    const size = this.#kind.how === 'sent' ? this.#kind.concurrency * sentPerWrite : this.#pace.size
    // In rows per tenth of a second, to spread them over each second.
    return rate === null ? size : Math.max(1, Math.min(size, Math.floor(rate / 10_000)))
  }

  /** Limits the rate. */
  #spend(rows: number): void {
    const { rate } = this.#batch
    if (rate !== null)
      this.#nextAt = Math.max(this.#nextAt, this.#deps.clock.monotonic()) + (rows * 1_000_000) / rate
  }

  async #write(kind: WrittenKind, { due, to, isEnd }: DuePage): Promise<void> {
    const rows = due.map(({ planned }) => planned)
    const write = async (trx: Queries): Promise<RowOutcome[]> => {
      if (rows.length === 0) return []
      const results = await this.#pace.timed(rows.length, () => kind.write(trx, this.#deps, this.#run, rows))
      return due.map((one, at) => {
        const result = results[at]
        if (!result) throw new Error(`${this.#run.kind} left a row without a result`)
        return { due: one, result }
      })
    }
    const results = await this.#commit(to, isEnd, write)
    kind.written?.(this.#deps, results)
    this.#spend(rows.length)
  }

  /** Paused or taken over: rows must not run for a previous owner of the batch. */
  async #isGone(): Promise<boolean> {
    const now = await findBatch(this.#deps.db.read, this.#batch.id)
    return now?.state !== 'running' || now.startedById !== this.#batch.startedById
  }

  async #send(kind: SentKind, { due, to, isEnd }: DuePage): Promise<void> {
    const { stopped, waitsFor } = this.#running
    const handled: RowOutcome[] = []
    const keyed = due.map((one) => ({ ...one.planned, key: this.#keyOf(one) }))
    const isHeld = kind.sendTogether === undefined || (await this.#isGone())
    const known = isHeld ? undefined : await kind.sendTogether?.(this.#deps, this.#run, keyed)
    const { isComplete, failure } = await sendRows<Due>({
      ...{ rows: due, concurrency: kind.concurrency, stopped, waitsFor },
      isGone: () => this.#isGone(),
      isRecorded: (one) => known?.has(this.#keyOf(one)) === true,
      send: (one) => {
        const key = this.#keyOf(one)
        return kind.send(this.#deps, this.#run, one.planned, key, known?.get(key))
      },
      onResult: (one, result) => handled.push({ due: one, result }),
    })
    // Continues at the first row that was not sent; later ones that were sent have results.
    const sent = new Set(handled.map((one) => one.due))
    const next = due.find((one) => !sent.has(one))
    const position = next === undefined ? to : { nextPiece: next.piece, nextRow: next.at }
    await this.#commit(position, isComplete && isEnd, async () => handled)
    if (failure) throw failure.error
    if (!isComplete) throw new Overtaken()
    this.#spend(due.length)
  }

  /** A permanent identifier of this attempt at a row. By position, because clients may number two rows alike. */
  #keyOf({ piece, at }: Due): string {
    return `${this.#batch.id}:${piece}.${at}:${this.#run.pass}`
  }

  /** Stores results and advances the position, in the same write as `handle`. @throws Overtaken */
  async #commit(
    to: DuePage['to'],
    isEnd: boolean,
    handle: (trx: Queries) => Promise<readonly RowOutcome[]>,
  ): Promise<RowResult[]> {
    const { db, clock } = this.#deps
    const { id } = this.#batch
    const { pass } = this.#position
    const { handled, pieces } = await db.write(async (trx) => {
      const handled = await handle(trx)
      const { pieces, counts } = this.#rows.keep(handled)
      if (!(await this.#advance(trx, { pass, ...to, ...counts }, isEnd, iso(clock.now()))))
        throw new Overtaken()
      for (const { piece, sealed } of pieces) await updatePiece(trx, id, piece, { results: sealed })
      return { handled, pieces }
    })
    this.#position = { pass, ...to }
    this.#rows.markStored(pieces)
    return handled.map(({ result }) => result)
  }

  async #advance(trx: Queries, advance: Advance, isEnd: boolean, at: string): Promise<boolean> {
    const { id, startedById } = this.#batch
    const from = { id, ...this.#position }
    const change = { touchedAt: at, error: null }
    const ended = isEnd ? ({ state: 'done', endedAt: at } as const) : {}
    if (await advanceBatch(trx, from, startedById, advance, { ...change, ...ended })) {
      if (isEnd) await this.#end(trx, at)
      return true
    }
    // Results of sent rows are stored whatever happened to the batch, and so is the reason for the pause.
    return this.#kind.how === 'sent' && advanceBatch(trx, from, undefined, advance, { touchedAt: at })
  }

  /** In the write of the last rows. From then on, the original batch counts as undone. */
  async #end(trx: Queries, at: string): Promise<void> {
    const { id, kind, name, teamId, undoes, startedBy, total } = this.#batch
    const actor = { name: startedBy, requestId: null, batch: id }
    const detail = { kind, ...(name === null ? {} : { name }), total }
    const { hash } = await recordChange(trx, { at, actor, teamId, action: 'batches.end', target: id, detail })
    await changeBatch(trx, id, { states: ['done'] }, { auditHead: hash })
    if (undoes === null) return
    await changeBatch(trx, undoes, { states: ['done', 'paused', 'failed', 'cancelled'] }, { state: 'undone' })
    // Undoing an undo makes the original batch done again.
    const first = (await findBatch(trx, undoes))?.undoes
    if (first != null) await changeBatch(trx, first, { states: ['undone'] }, { state: 'done' })
  }
}
