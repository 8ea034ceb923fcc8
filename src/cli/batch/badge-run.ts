import { ApiError } from '../client/errors.ts'
import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, withAfterword } from '../errors.ts'
import { clean, counted, grouped } from '../io/text.ts'
import { bothForms, colons, uidOnWire } from '../uid.ts'
import { eventForm } from './badge-form.ts'
import { assignmentColumns, type BadgeInput, creationColumns } from './badge-input.ts'
import type { BadgeOutcome, BadgeRow } from './badge-records.ts'
import { beginBatch, takeUpBatch } from './begin.ts'
import { checkFailedFile, writeFailedRows } from './failed-file.ts'
import { failureTeller } from './failures.ts'
import { countResults, type History } from './history.ts'
import type { Journal } from './journal.ts'
import { createPace } from './pace.ts'
import type { Counts } from './records.ts'

export type BadgeKind = 'badge-events create' | 'badge-events assign'

interface Run {
  readonly id: string
  readonly kind: BadgeKind
  readonly journal: Journal
  readonly rows: readonly BadgeRow[]
  /** What earlier runs of the batch have done: its end tells of all of it. */
  readonly before?: Counts
  readonly rate: number | undefined
}

const words = {
  'badge-events create': { label: 'Creating', done: 'created', next: 'See them: tapchip badge-events list' },
  'badge-events assign': {
    label: 'Assigning',
    done: 'assigned',
    next: "What a chip's next tap gives: tapchip refs show REF",
  },
} as const

export const describeBadge = ({ row, status, id, error }: BadgeOutcome, { cells }: BadgeRow): string => {
  const what = cells.uid ? `${bothForms(cells.uid)}  event ${cells.badgeEventId}` : `"${cells.name}"`
  return clean(
    [`row ${row}`, what, status, ...(id === undefined ? [] : [`id ${id}`]), error ?? []].flat().join('  '),
  )
}

/** Shows the rows that would be sent; what the daemon would say to each it says when they are. */
export const showBadges = async (
  ctx: CliContext,
  kind: BadgeKind,
  { rows }: BadgeInput,
): Promise<ExitCode> => {
  for (const { row, cells } of rows) {
    await ctx.io.line({ row, ...cells, dryRun: true }, () =>
      clean(
        `row ${row}  ${Object.entries(cells)
          .map(([name, value]) => `${name} ${value}`)
          .join('  ')}`,
      ),
    )
  }
  ctx.io.note(`Dry run: ${counted(rows.length, 'row')} would be ${words[kind].done}. Nothing was sent.`)
  return exitCodes.done
}

/** Begins a batch: its journal with all its rows is on disk before the first of them is sent. */
export const startBadges = async (
  ctx: CliContext,
  {
    kind,
    input,
    rows,
    rate,
    failedFile,
  }: BadgeInput & Pick<Run, 'kind' | 'rate'> & { failedFile: string | undefined },
): Promise<ExitCode> => {
  checkFailedFile(ctx, failedFile)
  const lines = rows.map((row) => ({ type: 'badge' as const, ...row }))
  const { id, journal } = await beginBatch(ctx, { kind, total: rows.length, input }, lines)
  const { exitCode, outcomes } = await runBadges(ctx, { id, kind, journal, rows, rate })
  if (failedFile !== undefined) writeFailed(ctx, failedFile, kind, rows, outcomes)
  return exitCode
}

/** The rows that have no result yet. One that was on its way is sent under its key again: no event comes twice. */
export const resumeBadges = async (
  ctx: CliContext,
  { header, badges, badgeOutcomes }: History,
  { retryFailed, rate }: { readonly retryFailed: boolean; readonly rate: number | undefined },
): Promise<ExitCode> => {
  ctx.needApiKey()
  const kind = header.kind === 'badge-events create' ? header.kind : 'badge-events assign'
  const rows = badges.filter(({ row }) => {
    const outcome = badgeOutcomes.get(row)
    return outcome === undefined || (retryFailed && outcome.status === 'failed')
  })
  if (rows.length === 0) {
    ctx.io.note('Every row has its result. Nothing to do.')
    return exitCodes.done
  }
  if (ctx.flags.dryRun) return showBadges(ctx, kind, { input: header.input, rows })
  const again = new Set(rows.map(({ row }) => row))
  const before = countResults([...badgeOutcomes.values()].filter(({ row }) => !again.has(row)))
  const journal = await takeUpBatch(ctx, header, rows.length)
  return (await runBadges(ctx, { id: header.id, kind, journal, rows, before, rate })).exitCode
}

/** One row after another: an image is a few megabytes, and what is heard of one may end the others. */
const runBadges = async (ctx: CliContext, { id, kind, journal, rows, before, rate }: Run) => {
  const { io } = ctx
  const { label, done, next } = words[kind]
  const client = await ctx.client()
  const outcomes = new Map<number, BadgeOutcome>()
  io.beforeSend(() => journal.flush())
  const failures = failureTeller(io)
  const progress = io.progress(label, rows.length)
  const pace = createPace(rate)
  let interrupted = false
  const stopListening = ctx.at.interrupts.listen(() => {
    interrupted = true
    pace.release()
    io.warn('Finishing the row that is on its way. Once more ends at once.')
  })
  const end = () => {
    stopListening()
    progress.end()
    failures.end(id)
    const counts = countResults(outcomes.values(), before)
    const how = outcomes.size === rows.length ? 'done' : 'stopped'
    journal.append({ type: 'end', at: ctx.now().toISOString(), how, ...counts })
    journal.close()
    return counts
  }
  try {
    for (const row of rows) {
      await pace.turn(1)
      if (interrupted) break
      journal.append({ type: 'sent', rows: [row.row] })
      journal.sync()
      const outcome = await send(client, kind, row, `${id}:${row.row}`)
      outcomes.set(row.row, outcome)
      journal.append({ type: 'badge-outcome', ...outcome })
      if (io.json) await io.line(outcome, () => '')
      else if (outcome.status === 'failed') {
        progress.clear()
        failures.tell(describeBadge(outcome, row))
      }
      progress.advance(1)
    }
  } catch (error) {
    end()
    throw withAfterword(
      error,
      `Stopped after ${grouped(outcomes.size)} of ${counted(rows.length, 'row')}. Go on: tapchip batch resume ${id}`,
    )
  }
  const { changed, failed } = end()
  const isComplete = outcomes.size === rows.length
  const stopped = `Stopped after ${grouped(outcomes.size)} of ${grouped(rows.length)}. Go on: tapchip batch resume ${id}`
  io.note(`${grouped(changed)} ${done}, ${grouped(failed)} failed.${isComplete ? '' : ` ${stopped}`}`)
  if (isComplete) io.hint(failed > 0 ? `Which failed, and why: tapchip batch report ${id} --failed` : next)
  const exitCode = isComplete ? (failed > 0 ? exitCodes.partial : exitCodes.done) : exitCodes.interrupted
  return { exitCode, outcomes }
}

/** @throws what says nothing of the row: no daemon, no key, an upstream that is out of reach */
const send = async (
  client: Client,
  kind: BadgeKind,
  { row, cells }: BadgeRow,
  key: string,
): Promise<BadgeOutcome> => {
  try {
    if (kind === 'badge-events create') {
      const { id } = await client.call('POST /badge-events', {
        upload: eventForm(cells),
        idempotencyKey: key,
      })
      return { row, status: 'created', id }
    }
    const { uid = '', badgeEventId = '', ...rest } = cells
    const body = { ...rest, tagUID: uidOnWire(uid), poapEventId: Number(badgeEventId) }
    await client.call('POST /badge-events/assign', { body })
    return { row, status: 'assigned' }
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 404, 409, 413, 415].includes(error.statusCode)) throw error
    return { row, status: 'failed', error: error.message }
  }
}

const writeFailed = (
  ctx: CliContext,
  file: string,
  kind: BadgeKind,
  rows: readonly BadgeRow[],
  outcomes: ReadonlyMap<number, BadgeOutcome>,
): void => {
  const columns = kind === 'badge-events create' ? creationColumns : assignmentColumns
  const failed = rows.filter(({ row }) => (outcomes.get(row)?.status ?? 'failed') === 'failed')
  const lines = failed.map(({ cells }) =>
    columns.map((column) => (column === 'uid' ? colons(cells.uid ?? '') : (cells[column] ?? ''))),
  )
  writeFailedRows(ctx, file, columns, lines)
}
