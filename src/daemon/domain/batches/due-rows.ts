import { countOfStatus } from '../../../values/batch.ts'
import { type Advance, findPiece, type Position } from '../../store/batches/batches.ts'
import type { BatchDeps, BatchKind, BatchRun, NumberedRow, PlannedRow, RowResult } from './kind.ts'
import { type OpenPiece, openPiece, type StoredResult, sealResults, storedResult } from './pieces.ts'

/** A row to be handled, with its position. */
export interface Due {
  readonly piece: number
  readonly at: number
  readonly planned: PlannedRow<NumberedRow, RowResult>
}

export interface RowOutcome {
  readonly due: Due
  readonly result: RowResult
}

export interface DuePage {
  readonly due: readonly Due[]
  /** The position after these rows. */
  readonly to: Omit<Position, 'pass'>
  readonly isEnd: boolean
}

interface SealedPiece extends OpenPiece {
  readonly sealed: Uint8Array
}

/** Changes to the batch by a write that stores results. */
export interface KeptResults {
  readonly pieces: readonly SealedPiece[]
  readonly counts: Omit<Advance, keyof Position>
}

const isDue = (stored: StoredResult | undefined, pass: number): boolean =>
  stored === undefined ||
  (stored.pass < pass && (stored.result.status === 'failed' || stored.result.status === 'conflict'))

/** Rows of a batch without a result in this pass, with their open pieces. */
export class DueRows {
  readonly #deps: Pick<BatchDeps, 'db' | 'box'>
  readonly #kind: BatchKind
  readonly #run: BatchRun
  readonly #isBound: boolean
  readonly #open = new Map<number, OpenPiece>()

  /** @param isBound bound to the plan even for retried rows, because the plan was approved */
  constructor(deps: Pick<BatchDeps, 'db' | 'box'>, kind: BatchKind, run: BatchRun, isBound: boolean) {
    this.#deps = deps
    this.#isBound = isBound
    this.#kind = kind
    this.#run = run
  }

  async gather(from: Position, limit: number, stopped: AbortSignal): Promise<DuePage> {
    const due: Due[] = []
    let { nextPiece: piece, nextRow: at } = from
    for (const known of this.#open.keys()) if (known < piece) this.#open.delete(known)
    while (!stopped.aborted) {
      const open = await this.#piece(piece)
      if (!open) return { due, to: { nextPiece: piece, nextRow: 0 }, isEnd: true }
      for (; at < open.count && due.length < limit; at += 1) {
        const row = open.rows[at]
        const stored = open.results[at]
        if (!row || !isDue(stored, from.pass)) continue
        due.push({
          piece,
          at,
          planned: { row, planned: stored && !this.#isBound ? undefined : open.plan?.[at] },
        })
      }
      if (at < open.count) break
      // A retry skips pieces without failures.
      if (due.length === 0) this.#open.delete(piece)
      piece += 1
      at = 0
      if (due.length > 0 && this.#kind.how === 'written' && this.#kind.staysInPiece) break
    }
    return { due, to: { nextPiece: piece, nextRow: at }, isEnd: false }
  }

  async #piece(piece: number): Promise<OpenPiece | undefined> {
    const known = this.#open.get(piece)
    if (known) return known
    const { db, box } = this.#deps
    const stored = await findPiece(db.read, this.#run.id, piece)
    if (!stored) return undefined
    const open = openPiece(box, this.#kind, this.#run, stored)
    this.#open.set(piece, open)
    return open
  }

  /** Returns the pieces to store. A write may run again, so this changes nothing here. */
  keep(handled: readonly RowOutcome[]): KeptResults {
    const counts = { changed: 0, unchanged: 0, failed: 0, conflict: 0, stored: 0 }
    const merged = new Map<number, OpenPiece & { results: (StoredResult | undefined)[] }>()
    for (const { due, result } of handled) {
      const before = this.#opened(due.piece)
      const open = merged.get(due.piece) ?? { ...before, results: [...before.results] }
      open.results[due.at] = storedResult(this.#run.pass, result)
      merged.set(due.piece, open)
      counts[countOfStatus[result.status]] += 1
      // The previous result of a retried row no longer counts.
      const last = before.results[due.at]
      if (last) counts[countOfStatus[last.result.status]] -= 1
    }
    const pieces = [...merged.values()].map((open) => {
      const sealed = sealResults(this.#deps.box, { id: this.#run.id, piece: open.piece }, open.results)
      counts.stored += sealed.length - open.resultBytes
      return { ...open, sealed, resultBytes: sealed.length }
    })
    return { pieces, counts }
  }

  #opened(piece: number): OpenPiece {
    const open = this.#open.get(piece)
    if (!open) throw new Error(`Piece ${piece} of batch ${this.#run.id} is not open`)
    return open
  }

  /** Call it once they are on disk. */
  markStored(pieces: readonly SealedPiece[]): void {
    for (const { sealed: _, ...open } of pieces) this.#open.set(open.piece, open)
  }
}
