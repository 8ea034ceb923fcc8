import { findBatch } from '../../batch/copies.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { batchArgument, summaryOf } from './summary.ts'

export const status = defineCommand({
  name: 'status',
  summary: 'Show the progress of a batch',
  examples: ['batch status b_1hq3v9k7s2m4xa'],
  args: batchArgument,
  run: async (ctx, { args }) => {
    const summary = summaryOf((await findBatch(ctx, args.id, kinds)).history)
    await ctx.io.one(summary, (batch) => ({
      Id: batch.id,
      Kind: batch.kind,
      Status: batch.status,
      Started: batch.startedAt,
      Ended: batch.endedAt,
      Rows: batch.total,
      Changed: batch.changed,
      Unchanged: batch.unchanged,
      Failed: batch.failed,
      Input: batch.input,
      Daemon: batch.url,
      Undoes: batch.undoes ?? undefined,
    }))
    if (summary.status === 'stopped') ctx.io.hint(`Continue: tapchip batch resume ${args.id}`)
  },
})
