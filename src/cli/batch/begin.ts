import type { CliContext } from '../context.ts'
import { counted, grouped } from '../io/text.ts'
import { newBatchId } from './id.ts'
import { instanceNow } from './instance.ts'
import { Journal } from './journal.ts'
import type { Header, JournalLine } from './records.ts'

/** Begins a batch: says where it goes, and has its journal with all its rows on disk before the first is sent. */
export const beginBatch = async (
  ctx: CliContext,
  about: Pick<Header, 'kind' | 'total' | 'input' | 'undoes' | 'settings'>,
  rows: readonly JournalLine[],
): Promise<{ readonly id: string; readonly journal: Journal }> => {
  await ctx.beforeWrite()
  const instance = await instanceNow(ctx)
  const id = newBatchId(ctx.now())
  const journal = new Journal(ctx.at, id)
  const startedAt = ctx.now().toISOString()
  const { url } = ctx.config()
  journal.append({ type: 'batch', version: 1, id, startedAt, url, ...instance, pid: process.pid, ...about })
  for (const row of rows) journal.append(row)
  journal.sync()
  ctx.io.note(`Batch ${id}: ${counted(about.total, 'row')}`)
  return { id, journal }
}

/** Takes a batch up again: its journal, on a line of its own. */
export const takeUpBatch = async (
  ctx: CliContext,
  { id, total }: Pick<Header, 'id' | 'total'>,
  left: number,
): Promise<Journal> => {
  await ctx.beforeWrite()
  const journal = new Journal(ctx.at, id)
  // A kill may have cut the last line short.
  journal.startLine()
  journal.append({ type: 'resumed', at: ctx.now().toISOString(), pid: process.pid })
  ctx.io.note(`Batch ${id}: ${grouped(left)} of ${grouped(total)} rows are left`)
  return journal
}
