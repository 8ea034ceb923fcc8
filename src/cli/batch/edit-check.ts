import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, Interrupted, UsageError } from '../errors.ts'
import { grouped } from '../io/text.ts'
import { chunksOf, describeResult } from './edit-run.ts'
import { countResults } from './history.ts'
import type { EditRow } from './records.ts'
import { type EditResult, sendRows } from './send.ts'

/** Rows of a check: the daemon takes 64 MiB a request, and a URL may be 4 KiB long. */
const checkSize = 12_000

/**
 * What the daemon would say to each row, nothing being written. The daemon refuses a row that cannot be meant
 * as a whole; then so do we.
 */
export const previewRows = async (
  ctx: CliContext,
  rows: readonly EditRow[],
): Promise<Map<number, EditResult>> => {
  await ctx.beforeWrite()
  const client = await ctx.client()
  const results = new Map<number, EditResult>()
  let interrupted = false
  const stopListening = ctx.at.interrupts.listen(() => {
    interrupted = true
  })
  for (const chunk of chunksOf(rows, checkSize)) {
    try {
      for await (const result of sendRows(client, chunk, true)) results.set(result.row, result)
    } catch (error) {
      stopListening()
      if (!(error instanceof ApiError) || error.statusCode !== 400) throw error
      const first = chunk[0]?.row ?? 1
      const counting = first === 1 ? '' : ` (counted from row ${first})`
      const nothing = error.message.startsWith('Nothing was done.') ? '' : '\nNothing was written.'
      throw new UsageError(`${error.message}${counting}${nothing}`)
    }
    if (interrupted) break
  }
  stopListening()
  if (interrupted) throw new Interrupted('Interrupted. Nothing was written.')
  return results
}

/** The difference, row by row. */
export const dryRun = async (ctx: CliContext, rows: readonly EditRow[]): Promise<ExitCode> => {
  const results = await previewRows(ctx, rows)
  for (const row of rows) {
    const result = results.get(row.row)
    if (result) {
      await ctx.io.line({ ...result, redirectUrl: row.redirectUrl }, () =>
        describeResult(result, row.redirectUrl),
      )
    }
  }
  const counts = countResults(results.values())
  ctx.io.note(
    `Dry run: ${grouped(counts.changed)} would change, ${grouped(counts.unchanged)} unchanged, ${grouped(counts.failed)} would fail. Nothing was written.`,
  )
  return counts.failed > 0 ? exitCodes.partial : exitCodes.done
}
