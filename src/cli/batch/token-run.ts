import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, withAfterword } from '../errors.ts'
import { counted, grouped } from '../io/text.ts'
import { chunksOf } from './edit-run.ts'
import { failureTeller } from './failures.ts'
import { countResults } from './history.ts'
import type { Journal } from './journal.ts'
import { createPace } from './pace.ts'
import type { Counts } from './records.ts'
import type { Outcome } from './token-records.ts'

/** What the daemon says to a row. `isUnheard`: nothing was done, since the chain does not answer. */
export type Heard = Outcome & { readonly isUnheard?: boolean }

export interface TokenRun<R extends { readonly row: number }> {
  readonly id: string
  readonly journal: Journal
  readonly rows: readonly R[]
  /** Rows that have their end already, without being sent. */
  readonly settled?: ReadonlyMap<number, Outcome>
  /** What earlier runs of the batch have done: its end tells of all of it. */
  readonly before?: Counts
  readonly rate?: number | undefined
  readonly label: string
  /** What is done, for the last line: `transferred`. */
  readonly done: string
  /** Rows a request, and how many requests at once. */
  readonly requests: { readonly rows: number; readonly atOnce: number }
  /** Sends rows in one request; sending a row again is safe. */
  send(rows: readonly R[]): AsyncGenerator<Heard>
  describe(outcome: Outcome, row: R): string
  /** What a person may do next, when all is done. */
  next(counts: Counts): string
}

/**
 * A chain that does not answer is asked again so often, after so many milliseconds: for about a minute, in which a node
 * restarts. The longer ones are told, so that nobody takes them for a hang.
 */
const pauses = [1000, 3000, 6000, 10_000, 15_000, 30_000]
const toldFromMs = 3000

/**
 * Sends rows, several requests at once, writes down what became of each as it comes, and shows it in the order of the
 * rows.
 */
export const runTokenRows = async <R extends { readonly row: number }>(
  ctx: CliContext,
  run: TokenRun<R>,
): Promise<{ readonly exitCode: ExitCode; readonly outcomes: ReadonlyMap<number, Outcome> }> => {
  const { id, journal, rows, settled = new Map<number, Outcome>() } = run
  const { io } = ctx
  const outcomes = new Map<number, Outcome>()
  io.beforeSend(() => journal.flush())
  const failures = failureTeller(io)
  const progress = io.progress(run.label, rows.length)
  const pace = createPace(run.rate)
  let stopped = false
  let failure: { readonly error: unknown } | undefined
  const resting = new Set<() => void>()
  const stop = () => {
    stopped = true
    pace.release()
    for (const wake of resting) wake()
  }
  const stopListening = ctx.at.interrupts.listen(() => {
    stop()
    io.warn('Finishing the rows that are on their way. Once more ends at once.')
  })

  let shown = 0
  let showing: Promise<void> = Promise.resolve()
  const show = async (skipGaps: boolean): Promise<void> => {
    for (let row = rows[shown]; row !== undefined; row = rows[++shown]) {
      const outcome = outcomes.get(row.row)
      if (outcome === undefined && skipGaps) continue
      if (outcome === undefined) return
      if (io.json) await io.line(outcome, () => '')
      else if (outcome.status === 'failed') {
        progress.clear()
        failures.tell(run.describe(outcome, row), { row: row.row, why: outcome.error ?? '' })
      }
    }
  }
  const settle = (outcome: Outcome): Promise<void> => {
    outcomes.set(outcome.row, outcome)
    journal.append({ type: 'outcome', ...outcome })
    progress.advance(1)
    showing = showing.then(() => show(false))
    return showing
  }
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        resting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      resting.add(wake)
    })

  const sendAll = async (chunk: readonly R[]): Promise<void> => {
    let left = chunk
    for (let attempt = 0; left.length > 0; attempt += 1) {
      journal.append({ type: 'sent', rows: left.map(({ row }) => row) })
      journal.flush()
      const unheard = new Set<number>()
      let why = ''
      for await (const { isUnheard, ...outcome } of run.send(left)) {
        if (isUnheard) {
          unheard.add(outcome.row)
          why = outcome.error ?? ''
        } else await settle(outcome)
      }
      journal.sync()
      left = left.filter(({ row }) => unheard.has(row))
      if (left.length === 0) return
      if (stopped) return
      const pause = pauses[attempt]
      if (pause === undefined) throw new CliError(why)
      // Said once, whatever number of requests is waiting.
      if (pause >= toldFromMs && resting.size === 0)
        io.note(`The chain does not answer. Trying again in ${pause / 1000} s.`)
      await rest(pause)
    }
  }
  const chunks = chunksOf(
    rows.filter(({ row }) => !settled.has(row)),
    pace.size(run.requests.rows),
  )
  const work = async (): Promise<void> => {
    for (let next = chunks.next(); !next.done && !stopped; next = chunks.next()) {
      await pace.turn(next.value.length)
      if (stopped) return
      try {
        await sendAll(next.value)
      } catch (error) {
        failure ??= { error }
        stop()
      }
    }
  }
  for (const outcome of settled.values()) await settle(outcome)
  await Promise.all(Array.from({ length: run.requests.atOnce }, work))
  await showing
  await show(true)

  const complete = outcomes.size === rows.length
  const counts = countResults(outcomes.values(), run.before)
  stopListening()
  progress.end()
  failures.end(id)
  journal.append({ type: 'end', at: ctx.now().toISOString(), how: complete ? 'done' : 'stopped', ...counts })
  journal.close()
  const goOn = `Stopped after ${grouped(outcomes.size)} of ${counted(rows.length, 'row')}. Go on: tapchip batch resume ${id}`
  if (failure) throw withAfterword(failure.error, goOn)
  const { changed, unchanged, failed } = counts
  io.note(
    `${grouped(changed)} ${run.done}, ${grouped(unchanged)} unchanged, ${grouped(failed)} failed. ${complete ? (io.json ? '' : run.next(counts)) : goOn}`.trimEnd(),
  )
  const queued = [...outcomes.values()].filter(({ status }) => status === 'queued').length
  if (queued > 0)
    io.note(
      `${counted(queued, 'transfer waits', 'transfers wait')} for room on the chain, and will go out by themselves: tapchip transactions list`,
    )
  if (complete && failed > 0) io.hint(`Which failed, and why: tapchip batch report ${id} --failed`)
  const exitCode = complete ? (failed > 0 ? exitCodes.partial : exitCodes.done) : exitCodes.interrupted
  return { exitCode, outcomes }
}
