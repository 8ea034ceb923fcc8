import { existsSync, rmSync } from 'node:fs'
import { isBatchId } from '../../../values/batch-id.ts'
import { archivePath } from '../../batch/archive.ts'
import { remoteBatches } from '../../batch/copies.ts'
import { readBatch } from '../../batch/history.ts'
import { journalPath } from '../../batch/journal.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { batchArgument } from './summary.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: "Remove a batch: its journal on this machine, and the daemon's copy",
  description:
    "Remove a batch: its journal on this machine, and the daemon's copy. What the batch changed stays as it is, and can " +
    'no longer be undone. A batch that is running is not removed.',
  examples: ['batch remove b_1hq3v9k7s2m4xa', 'batch remove b_1hq3v9k7s2m4xa --yes'],
  args: batchArgument,
  options: { yes },
  run: async (ctx, { args: { id }, options }) => {
    const files = [journalPath(ctx.system, id), archivePath(ctx.system, id)]
    const isHere = isBatchId(id) && files.some((file) => existsSync(file))
    const { adminToken, apiKey } = ctx.config()
    const isAdmin = adminToken() !== undefined
    const asksDaemon = isBatchId(id) && (!isHere || isAdmin || apiKey !== undefined)
    const isKept = asksDaemon && (await remoteBatches(ctx, { id })).length > 0
    if (!isHere && !isKept)
      throw new UsageError(`There is no batch "${id}".`, 'List them: tapchip batch list --all')
    if (isHere && !isKept) await assertStopped(ctx, id)
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Remove batch ${id}? It can no longer be resumed or undone.`,
    )
    if (isKept) {
      const key = isAdmin ? 'DELETE /admin/batches/:id' : 'DELETE /batches/:id'
      await ctx.call(key, { params: { id } })
    } else await ctx.beforeChange(`Would remove the journal of batch ${id}`)
    for (const file of files) rmSync(file, { force: true })
    await ctx.io.one({ success: true }, () => ({ Removed: id }))
    ctx.io.hint('See what is left: tapchip batch list --all')
  },
})

/** The daemon says so of those that it knows. */
const assertStopped = async (ctx: CliContext, id: string): Promise<void> => {
  // One that cannot be read may be removed.
  const batch = await readBatch(ctx.system, id, kinds, true).catch(() => undefined)
  if (batch?.history.status !== 'running') return
  throw new CliError(`Batch ${id} is still running, as process ${batch.history.header.pid}.`, {
    advice: `If that process is now another program, delete ${journalPath(ctx.system, id)}`,
  })
}
