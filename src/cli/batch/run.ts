import { setTimeout as wait } from 'node:timers/promises'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, withAfterword } from '../errors.ts'
import { counted, formatNumber } from '../io/text.ts'
import { chunksOf } from './answers.ts'
import { auditHeadNow, instanceNow } from './instance.ts'
import {
  type Counts,
  countedAs,
  countResults,
  type Outcome,
  type Result,
  type Row,
  type Status,
} from './journal.ts'
import type { Journal } from './journal-file.ts'
import type { RowKind } from './kind.ts'
import { openRun } from './open-run.ts'
import { Patience } from './patience.ts'

/**
 * Delays in milliseconds before retries when the chain does not answer: about a minute in all, enough for a node to
 * restart. Long ones are announced, so that nobody takes them for a hang.
 */
const pauses = [1000, 3000, 6000, 10_000, 15_000, 30_000]
const announcedFromMs = 3000
const mostOutages = 10

export interface Sending<R extends Row, T extends Result> {
  readonly id: string
  readonly journal: Journal
  readonly rows: readonly R[]
  /** Rows that are done without being sent. */
  readonly settled: ReadonlyMap<number, T>
  readonly failures: ReadonlyMap<number, number>
  /** Totals of earlier runs of the batch, which its end includes. */
  readonly before?: Counts
  readonly rate: number | undefined
  /** Requests under way at once; by default, as the kind says. */
  readonly concurrency?: number | undefined
}

export interface Ended<T extends Result> {
  readonly exitCode: ExitCode
  readonly outcomes: ReadonlyMap<number, Outcome>
  /** Of a batch of a single row. */
  readonly only: T | undefined
}

// Of many rows, only what the end tells is kept; rows that are done share it.
const done = new Map<Status, Outcome>()
const outcomeOf = ({ status, error, replaced }: Outcome): Outcome => {
  if (error !== undefined || replaced) return { status, error, replaced }
  const shared = done.get(status) ?? { status }
  done.set(status, shared)
  return shared
}

/** Sends rows, records each result as it arrives, and prints them in the order of the rows. */
export const sendRows = async <R extends Row, T extends Result>(
  ctx: CliContext,
  kind: RowKind<R, T>,
  { id, journal, rows, settled, failures, before, rate, concurrency }: Sending<R, T>,
): Promise<Ended<T>> => {
  const { io } = ctx
  const { requests } = kind
  const client = await ctx.client()
  const outcomes = new Map<number, Outcome>()
  /** Results that wait for those of the rows before them. */
  const unshown = new Map<number, T>()
  let only: T | undefined
  const atOnce = concurrency ?? requests.atOnce
  const beingSent = requests.rows * atOnce === 1 ? 'row that is' : 'rows that are'
  const stopping = `Finishing the ${beingSent} being sent. Press Ctrl-C again to stop now.`
  const run = openRun(ctx, { id, journal, label: kind.label, total: rows.length, rate, stopping })
  const { signal } = run.stop
  let failure: { readonly error: unknown } | undefined

  let shown = 0
  let isShowing = false
  // Returns no promise unless the reader is slow: there may be a million rows.
  const show = (skipGaps: boolean): Promise<void> | undefined => {
    while (!isShowing && shown < rows.length) {
      const row = rows[shown]
      const result = row && unshown.get(row.row)
      if (result === undefined && !skipGaps) return undefined
      shown += 1
      if (row) unshown.delete(row.row)
      const leaving = row && result && run.show(result, () => kind.describe(result, row))
      if (leaving === undefined) continue
      isShowing = true
      return leaving.then(() => {
        isShowing = false
        return show(skipGaps)
      })
    }
    return undefined
  }
  const settle = (result: T): Promise<void> | undefined => {
    outcomes.set(result.row, outcomeOf(result))
    unshown.set(result.row, result)
    if (rows.length === 1) only = result
    journal.append({ type: 'result', ...result })
    run.progress.advance(1)
    return show(false)
  }

  // A key names one attempt of a row for ever: the same after a kill, and a new one after a failure, which changed
  // nothing.
  const keyOf = (row: number) => `${id}:${row}:${failures.get(row) ?? 0}`
  const { instance } = await instanceNow(ctx)
  const patience = new Patience(ctx, client, signal, instance)
  let resting = 0
  const sendAll = async (chunk: readonly R[]): Promise<void> => {
    let left = chunk
    let outages = 0
    for (let attempt = 0; left.length > 0; attempt += 1) {
      journal.append({ type: 'sent', rows: left.map(({ row }) => row) })
      journal.sync()
      const retryReason = new Map<number, string>()
      const unanswered = new Set(left.map(({ row }) => row))
      try {
        for await (const heard of kind.send(client, left, keyOf)) {
          unanswered.delete(heard.row)
          if ('retryReason' in heard) {
            retryReason.set(heard.row, String(heard.retryReason))
            continue
          }
          const leaving = settle(heard)
          if (leaving) await leaving
        }
      } catch (error) {
        // A daemon that ends again and again at the same rows is not restarted: it fails.
        outages = unanswered.size === left.length ? outages + 1 : 0
        if (outages > mostOutages) throw error
        await patience.wait(error)
        left = left.filter(({ row }) => unanswered.has(row) || retryReason.has(row))
        if (signal.aborted) return
        attempt -= 1
        continue
      }
      left = left.filter(({ row }) => retryReason.has(row))
      if (left.length === 0 || signal.aborted) return
      const pause = pauses[attempt]
      if (pause === undefined) throw new CliError([...retryReason.values()].at(-1) ?? '')
      // Printed once, however many requests are waiting.
      if (pause >= announcedFromMs && resting === 0)
        io.note(`The chain or the database is not answering. Trying again in ${pause / 1000} s.`)
      resting += 1
      await wait(pause, undefined, { signal }).catch(() => undefined)
      resting -= 1
    }
  }
  const chunks = chunksOf(
    rows.filter(({ row }) => !settled.has(row)),
    run.pace.size(requests.rows),
  )
  const work = async (): Promise<void> => {
    for (let next = chunks.next(); !next.done && !signal.aborted; next = chunks.next()) {
      await run.pace.turn(next.value.length)
      if (signal.aborted) return
      try {
        await sendAll(next.value)
      } catch (error) {
        failure ??= { error }
        run.stop.abort()
      }
    }
  }
  for (const result of settled.values()) await settle(result)
  await Promise.all(Array.from({ length: atOnce }, work))
  await show(true)
  failure ??= run.taken()

  const isComplete = outcomes.size === rows.length
  const counts = countResults(outcomes.values(), before)
  // The end follows the head, so what is still to be copied travels while the head is asked for.
  const isLong = rows.length > requests.rows
  const [auditHead] = await Promise.all([
    failure ? undefined : auditHeadNow(ctx),
    isLong && !failure ? journal.mirror?.upload().catch(() => undefined) : undefined,
  ])
  try {
    await run.end(isComplete ? 'done' : 'stopped', counts, auditHead)
  } catch (error) {
    failure ??= { error }
  }
  const stopped = (of: string) =>
    `Stopped after ${formatNumber(outcomes.size)} of ${of}. Continue: tapchip batch resume ${id}`
  if (failure) throw withAfterword(failure.error, stopped(counted(rows.length, 'row')))
  const ends = kind.countedStatuses
    .map((status) => `${formatNumber(counts[countedAs[status]])} ${status}`)
    .join(', ')
  const next = io.json ? '' : (kind.next?.(id, counts, outcomes.values()) ?? '')
  io.note(`${ends}. ${isComplete ? next : stopped(formatNumber(rows.length))}`.trimEnd())
  const remark = kind.remark?.(outcomes.values())
  if (remark !== undefined) io.note(remark)
  if (!isComplete) return { exitCode: exitCodes.interrupted, outcomes, only }
  const hint =
    counts.failed > 0 ? `See which rows failed and why: tapchip batch report ${id} --failed` : kind.hint?.(id)
  if (hint !== undefined) io.hint(hint)
  return { exitCode: counts.failed > 0 ? exitCodes.partial : exitCodes.done, outcomes, only }
}
