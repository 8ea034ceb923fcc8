import { listBatches } from '../../batch/history.ts'
import { defineCommand } from '../../command/define.ts'
import { summaryOf } from './summary.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the batches of this machine, newest first',
  examples: ['batch list', 'batch list --json | jq -r \'.[] | select(.status == "stopped") | .id\''],
  run: async (ctx) => {
    await ctx.io.list(
      (await listBatches(ctx.at)).map(summaryOf),
      {
        ID: (batch) => batch.id,
        KIND: (batch) => batch.kind,
        STATUS: (batch) => batch.status,
        STARTED: (batch) => batch.startedAt,
        TOTAL: (batch) => batch.total,
        CHANGED: (batch) => batch.changed,
        UNCHANGED: (batch) => batch.unchanged,
        FAILED: (batch) => batch.failed,
        INPUT: (batch) => batch.input,
      },
      'No batches yet. One begins with: tapchip chips edit --file FILE',
    )
  },
})
