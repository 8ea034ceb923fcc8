import type { CliContext } from '../context.ts'
import { failureReporter } from './failures.ts'
import { type Counts, countedAs, type End, type Result } from './journal.ts'
import type { Journal } from './journal-file.ts'
import { createPace } from './pace.ts'

/** Shared by all batches while they send: progress, pace, interrupts, failures, and the end. */
export const openRun = (
  ctx: CliContext,
  about: {
    readonly id: string | undefined
    readonly journal: Journal | undefined
    readonly label: string
    readonly total: number
    readonly rate: number | undefined
    /** Printed at an interrupt. */
    readonly stopping: string
  },
) => {
  const { io } = ctx
  const { id, journal } = about
  io.beforeSend(() => journal?.flush())
  const failures = failureReporter(io)
  const progress = io.progress(about.label, about.total)
  const stop = new AbortController()
  let taken: { readonly error: unknown } | undefined
  if (journal?.mirror)
    journal.mirror.onTaken = (error) => {
      taken = { error }
      stop.abort()
    }
  const stopListening = ctx.system.interrupts.listen(() => {
    io.warn(about.stopping)
    stop.abort()
  })
  return {
    progress,
    pace: createPace(about.rate, stop.signal),
    stop,
    /** Another process runs the batch now, which is why this one stopped. */
    taken: () => taken,
    /** People see failures only; successes are counted. */
    show: (result: Result, forPeople: () => string): Promise<void> | undefined => {
      if (io.json) return io.line(result, () => '')
      if (countedAs[result.status] !== 'failed') return undefined
      progress.clear()
      failures.report(forPeople(), { row: result.row, why: result.error ?? '' })
      return undefined
    },
    end: async (how: End['how'], counts: Counts, auditHead?: string): Promise<void> => {
      stopListening()
      progress.end()
      failures.end(id)
      journal?.append({ type: 'end', at: ctx.now().toISOString(), how, ...counts, auditHead })
      await journal?.close()
    },
  }
}
