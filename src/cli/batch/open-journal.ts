import { rmSync, statSync } from 'node:fs'
import { newBatchId } from '../../values/batch-id.ts'
import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { CliError, withAfterword } from '../errors.ts'
import { counted, formatNumber } from '../io/text.ts'
import { tidyJournals } from './archive.ts'
import { instanceNow } from './instance.ts'
import { type Counts, type Header, journalPath, journalVersion, placeOf, type Row } from './journal.ts'
import { Journal } from './journal-file.ts'
import type { History } from './kind.ts'
import { type Held, type Hold, holdBatch, Mirror, releaseBatch } from './mirror.ts'

/** Starts a batch. Its journal, with all its rows, is on disk before the first row is sent. */
export const beginJournal = async (
  ctx: CliContext,
  about: Pick<Header, 'kind' | 'total' | 'input' | 'undoes' | 'settings'>,
  {
    rows = [],
    noun = 'row',
    isAdmin = true,
  }: {
    readonly rows?: Iterable<Row>
    readonly noun?: string
    readonly isAdmin?: boolean
  } = {},
): Promise<{ readonly id: string; readonly journal: Journal }> => {
  await ctx.beforeWrite()
  const instance = await instanceNow(ctx)
  const id = newBatchId(ctx.now().getTime())
  const journal = new Journal(ctx.system, id)
  // What cannot be tidied is left for the next batch.
  void tidyJournals(ctx.system, ctx.now()).catch(() => undefined)
  const startedAt = ctx.now().toISOString()
  const { url } = ctx.config()
  const { pid } = process
  const header: Header = {
    type: 'batch',
    version: journalVersion,
    id,
    startedAt,
    url,
    ...instance,
    pid,
    place: placeOf(journal.path),
    ...about,
  }
  journal.append(header)
  for (const row of rows) journal.append({ type: 'row', ...row })
  journal.sync()
  const hold = { header, isAdmin, takeOver: false, path: journal.path }
  await mirrored(ctx, journal, hold, await holdBatch(ctx, hold))
  ctx.io.note(`Batch ${id}: ${counted(about.total, noun)}`)
  return { id, journal }
}

/**
 * Opens the journal of a batch that is resumed, by this process alone.
 * @param left the rows that are left, in words
 * @param open rows that may be done without a result here
 * @throws CliError if another process runs it
 */
export const reopenJournal = async (
  ctx: CliContext,
  { header, copy, isOwn, isAdmin = true, before, takeOver = false }: Resuming,
  left: string,
  open: readonly number[] = [],
): Promise<Journal> => {
  await ctx.beforeWrite()
  const { id } = header
  const path = journalPath(ctx.system, id)
  const { size } = statSync(path)
  const own = isOwn ? { gone: copy?.lease, length: size } : {}
  const hold = { header, isAdmin, takeOver, path, isResumed: true, ...own }
  const held = await holdBatch(ctx, hold).catch((error: unknown) => {
    const isRunning = error instanceof ApiError && error.code === 'batch_running'
    if (!isRunning) throw error
    throw withAfterword(error, `To take it over at once: tapchip batch resume ${id} --take-over`)
  })
  if (held && !isOwn && held.length !== size) {
    await releaseBatch(ctx, hold, held)
    rmSync(path)
    throw new CliError(`Batch ${id} went on at ${copy?.host ?? 'another machine'} until a moment ago.`, {
      advice: `Try again: tapchip batch resume ${id}`,
    })
  }
  const journal = new Journal(ctx.system, id, before)
  // A kill may have cut the last line short.
  journal.startLine()
  const at = ctx.now().toISOString()
  journal.append({ type: 'resumed', at, pid: process.pid, place: placeOf(journal.path) })
  if (open.length > 0) journal.append({ type: 'sent', rows: open })
  journal.sync()
  await mirrored(ctx, journal, hold, held)
  ctx.io.note(`Batch ${id}: ${left}`)
  return journal
}

/** From the history of a batch, what its next run needs. */
export type Resuming = Pick<History, 'header' | 'copy' | 'isOwn'> & {
  readonly isAdmin?: boolean
  readonly before?: Counts | undefined
  readonly takeOver?: boolean | undefined
}

/** Nothing is sent before the daemon has the rows: another machine could not go on without them. */
const mirrored = async (
  ctx: CliContext,
  journal: Journal,
  hold: Hold,
  held: Held | undefined,
): Promise<void> => {
  ctx.inBatch(hold.header.id, held?.lease)
  if (held === undefined) return
  journal.mirror = new Mirror(ctx, await ctx.client(), hold, held, journal)
  await journal.mirror.upload().catch(() => undefined)
}

export const rowsLeft = (left: number, total: number): string =>
  `${formatNumber(left)} of ${formatNumber(total)} rows are left`
