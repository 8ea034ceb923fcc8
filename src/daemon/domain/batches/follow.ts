import { type BatchRow, findBatch, type NamedBatch } from '../../store/batches/batches.ts'
import { invalid } from '../errors/errors.ts'
import { type BatchCaller, batchToRun, settingsOf } from './batches.ts'
import type { BatchDeps, RowResult } from './kind.ts'
import { openPiece, openResults, piecesOfBatch, resultTexts, rowNumbers } from './pieces.ts'
import { pause } from './send.ts'

type Deps = Pick<BatchDeps, 'db' | 'box'>

/** How often a batch that another daemon runs is polled. */
const pollMs = 500
/** Less often than after each write, because a read opens a piece. */
const minLookMs = 50
const notifyMs = 1000

/** A stored result as JSON, or the batch. */
export type FollowLine = string | { batch: NamedBatch }

/**
 * Streams the results of the current pass in row order, a few at a time, with the batch occasionally and at the end.
 * @param after the number of results that the caller already has @throws DomainError not_found, scope_missing
 */
export async function followBatch(
  deps: Deps & { signals: BatchSignals },
  caller: BatchCaller,
  idOrName: string,
  { after, stopped }: { after: number; stopped: AbortSignal },
): Promise<AsyncGenerator<FollowLine[]>> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  return follow(deps, batch, after, stopped)
}

async function* follow(
  { db, box, signals }: Deps & { signals: BatchSignals },
  first: NamedBatch,
  after: number,
  stopped: AbortSignal,
): AsyncGenerator<FollowLine[]> {
  const place = { pass: first.pass, piece: 0, row: 0, skip: after }
  let batch: NamedBatch | undefined = first
  for (let lastSentAt = 0; batch && !stopped.aborted; batch = await findBatch(db.read, batch.id)) {
    const lookedAt = performance.now()
    if (batch.pass !== place.pass) Object.assign(place, { pass: batch.pass, piece: 0, row: 0, skip: 0 })
    if (batch.startedAt !== null) yield* resultsFrom({ db, box }, batch, place)
    if (batch.state !== 'running') return yield [{ batch }]
    if (lookedAt - lastSentAt >= notifyMs || lastSentAt === 0) {
      yield [{ batch }]
      lastSentAt = lookedAt
    }
    await signals.next(batch.id, pollMs, stopped)
    await pause(Math.max(0, lookedAt + minLookMs - performance.now()), stopped)
  }
}

/** Advances to the batch's position. */
async function* resultsFrom(
  { db, box }: Deps,
  { id, nextPiece, nextRow }: BatchRow,
  place: { pass: number; piece: number; row: number; skip: number },
): AsyncGenerator<string[]> {
  if (place.piece > nextPiece || (place.piece === nextPiece && place.row >= nextRow)) return
  for await (const stored of piecesOfBatch(db.read, id, place.piece)) {
    const end = stored.piece < nextPiece ? stored.count : nextRow
    const results = resultTexts(box, id, stored, { pass: place.pass, from: place.row, end })
    const unknown = results.slice(place.skip)
    place.skip = Math.max(0, place.skip - results.length)
    if (unknown.length > 0) yield unknown
    if (stored.piece >= nextPiece) {
      place.row = end
      return
    }
    place.piece += 1
    place.row = 0
  }
}

/**
 * Each row with its last result, if it has one.
 * @param onlyFailed those that failed or conflict @throws DomainError not_found, scope_missing
 */
export async function reportBatch(
  { db, box }: Deps,
  caller: BatchCaller,
  idOrName: string,
  onlyFailed: boolean,
): Promise<AsyncGenerator<RowResult | { row: number }>> {
  const { batch } = await batchToRun(db.read, caller, idOrName)
  return report({ db, box }, batch.id, onlyFailed)
}

async function* report(
  { db, box }: Deps,
  id: string,
  onlyFailed: boolean,
): AsyncGenerator<RowResult | { row: number }> {
  for await (const stored of piecesOfBatch(db.read, id)) {
    const results = openResults(box, id, stored)
    for (const [at, row] of rowNumbers(box, id, stored).entries()) {
      const result = results[at]?.result
      const isFailed = result?.status === 'failed' || result?.status === 'conflict'
      if (isFailed || !onlyFailed) yield result ?? { row }
    }
  }
}

/** Kinds add their own members. */
interface ShownResult {
  [member: string]: unknown
  row: number
  status?: string | undefined
  error?: string | undefined
}

export interface BatchRowsPage {
  rows: { row: number; plan: ShownResult | null; result: ShownResult | null }[]
  /** Where to go on; null: there are no more. */
  next: string | null
}

// Pieces that one request opens to find the failed rows among many.
const maxPieces = 10

/**
 * A page of a batch's rows as they were planned and with their last results.
 * @param after `next` of the page before @throws DomainError invalid_input, not_found, scope_missing
 */
export async function batchRows(
  { db, box }: Deps,
  caller: BatchCaller,
  idOrName: string,
  {
    after = '0.0',
    limit,
    failed,
  }: { after?: string | undefined; limit?: number | undefined; failed?: boolean | undefined },
): Promise<BatchRowsPage> {
  const { batch, kind } = await batchToRun(db.read, caller, idOrName)
  const [, first = '0', offset = '0'] = /^(\d{1,9})\.(\d{1,9})$/.exec(after) ?? []
  if (!/^\d{1,9}\.\d{1,9}$/.test(after)) throw invalid('after', 'must be the next of an earlier answer')
  const rows: BatchRowsPage['rows'] = []
  let from = Number(offset)
  for await (const stored of piecesOfBatch(db.read, batch.id, Number(first))) {
    if (stored.piece - Number(first) >= maxPieces) return { rows, next: `${stored.piece}.0` }
    const piece = openPiece(box, kind, { ...batch, settings: settingsOf(batch) }, stored)
    for (let at = from; at < piece.count; at++) {
      if (rows.length === limit) return { rows, next: `${stored.piece}.${at}` }
      const result = piece.results[at]?.result ?? null
      const isFailed = result?.status === 'failed' || result?.status === 'conflict'
      if (failed && !isFailed) continue
      const planned = piece.plan?.[at]
      const row = piece.rows[at]?.row ?? 0
      rows.push({ row, plan: planned ? { ...planned } : null, result: result && { ...result } })
    }
    from = 0
  }
  return { rows, next: null }
}

/** Notifies followers of a batch when it advances. Batches run by other daemons are polled. */
export class BatchSignals {
  readonly #listeners = new Map<string, Set<() => void>>()

  notify(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener()
  }

  /** Resolves when the batch advances, after a timeout, or when the signal aborts. */
  async next(id: string, withinMs: number, stopped: AbortSignal): Promise<void> {
    if (stopped.aborted) return
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners)
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        stopped.removeEventListener('abort', end)
        listeners.delete(end)
        if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
        resolve()
      }
      const timer = setTimeout(end, withinMs)
      stopped.addEventListener('abort', end)
      listeners.add(end)
    })
  }
}
