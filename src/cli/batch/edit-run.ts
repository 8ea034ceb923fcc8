import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, withAfterword } from '../errors.ts'
import { clean, counted, grouped, shown } from '../io/text.ts'
import { bothForms } from '../uid.ts'
import { beginBatch } from './begin.ts'
import { failureTeller } from './failures.ts'
import { countResults } from './history.ts'
import type { Journal } from './journal.ts'
import { createPace } from './pace.ts'
import type { Counts, EditRow, Header, RowResult } from './records.ts'
import { sendRows } from './send.ts'

/** Rows a request: small enough that an interrupt waits for a moment only. */
const chunkSize = 2000

export interface EditBatch {
  readonly kind: 'chips edit' | 'chips undo'
  readonly input: Header['input']
  readonly undoes?: string
  readonly rows: readonly EditRow[]
  /** Rows a second. */
  readonly rate?: number | undefined
}

export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}

export const describeResult = (result: RowResult, redirectUrl: string | null | undefined): string => {
  const row = `row ${result.row}  ${bothForms(result.uid)}  ${result.status}`
  if (result.status === 'failed') return `${row}  ${clean(result.error ?? '')}`
  if (result.status === 'unchanged') return `${row}  ${shown(redirectUrl)}`
  return `${row}  ${shown(result.previous)} → ${shown(redirectUrl)}`
}

export interface RunOutcome {
  readonly exitCode: ExitCode
  readonly results: ReadonlyMap<number, RowResult>
}

/** Begins a batch: its journal with all its rows is on disk before the first of them is sent. */
export const startBatch = async (
  ctx: CliContext,
  batch: EditBatch,
  preview: ReadonlyMap<number, RowResult>,
): Promise<RunOutcome> => {
  const { kind, input, undoes, rows, rate } = batch
  const about = { kind, total: rows.length, input, ...(undoes === undefined ? {} : { undoes }) }
  const lines = rows.map((row) => {
    const previous = preview.get(row.row)?.previous
    return { type: 'row' as const, ...row, ...(previous === undefined ? {} : { previous }) }
  })
  const { id, journal } = await beginBatch(ctx, about, lines)
  return runRows(ctx, { id, journal, rows, rate })
}

/** Sends rows, chunk by chunk, and writes down what became of each. */
export const runRows = async (
  ctx: CliContext,
  batch: {
    readonly id: string
    readonly journal: Journal
    readonly rows: readonly EditRow[]
    /** What earlier runs of the batch have done: its end tells of all of it. */
    readonly before?: Counts
    /** Rows a second. */
    readonly rate?: number | undefined
  },
): Promise<RunOutcome> => {
  const { id, journal, rows } = batch
  const { io } = ctx
  const results = new Map<number, RowResult>()
  const client = await ctx.client()
  io.beforeSend(() => journal.flush())
  let interrupted = false
  const pace = createPace(batch.rate)
  const stopListening = ctx.at.interrupts.listen(() => {
    interrupted = true
    pace.release()
    io.warn('Finishing the rows that are on their way. Once more ends at once.')
  })
  const failures = failureTeller(io)
  const progress = io.progress('Editing', rows.length)
  const end = (how: 'done' | 'stopped') => {
    stopListening()
    progress.end()
    failures.end(id)
    journal.append({
      type: 'end',
      at: ctx.now().toISOString(),
      how,
      ...countResults(results.values(), batch.before),
    })
    journal.close()
  }
  try {
    for (const chunk of chunksOf(rows, pace.size(chunkSize))) {
      await pace.turn(chunk.length)
      if (interrupted) break
      journal.append({ type: 'sent', rows: chunk.map(({ row }) => row) })
      journal.flush()
      const urls = new Map(chunk.map(({ row, redirectUrl }) => [row, redirectUrl]))
      for await (const result of sendRows(client, chunk, false)) {
        results.set(result.row, result)
        journal.append({ type: 'result', ...result })
        // People see what failed; what went well is counted.
        if (io.json) await io.line(result, () => '')
        else if (result.status === 'failed') {
          progress.clear()
          const { row, error: why = '' } = result
          failures.tell(describeResult(result, urls.get(row)), { row, why })
        }
        progress.advance(1)
      }
      journal.sync()
    }
  } catch (error) {
    end('stopped')
    throw stoppedBy(error, id, results.size, rows.length)
  }
  const complete = results.size === rows.length
  end(complete ? 'done' : 'stopped')
  const { changed, unchanged, failed } = countResults(results.values(), batch.before)
  const next = complete
    ? changed > 0 && !io.json
      ? `Take it back: tapchip batch undo ${id}`
      : ''
    : `Stopped after ${grouped(results.size)} of ${grouped(rows.length)}. Go on: tapchip batch resume ${id}`
  io.note(
    `${grouped(changed)} changed, ${grouped(unchanged)} unchanged, ${grouped(failed)} failed. ${next}`.trimEnd(),
  )
  if (complete && failed > 0) io.hint(`Which failed, and why: tapchip batch report ${id} --failed`)
  const exitCode = complete ? (failed > 0 ? exitCodes.partial : exitCodes.done) : exitCodes.interrupted
  return { exitCode, results }
}

/** The same error, with where the batch stands. */
export const stoppedBy = (error: unknown, id: string, done: number, total: number): unknown =>
  withAfterword(
    error,
    `Stopped after ${grouped(done)} of ${counted(total, 'row')}. Go on: tapchip batch resume ${id}`,
  )
