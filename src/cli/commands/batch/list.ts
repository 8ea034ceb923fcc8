import { listBatches } from '../../batch/history.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { type CliError, exitCodes } from '../../errors.ts'
import { summaryOf } from './summary.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the batches of this machine, newest first',
  examples: ['batch list', 'batch list --json | jq -r \'.[] | select(.status == "stopped") | .id\''],
  run: async (ctx) => {
    const problems: CliError[] = []
    const batches = await listBatches(ctx.system, kinds, (problem) => problems.push(problem))
    await ctx.io.list(
      batches.map(summaryOf),
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
      'No batches yet. Start one: tapchip chips edit --file FILE',
    )
    for (const { message } of problems) ctx.io.warn(message)
    return problems.length === 0 ? exitCodes.done : exitCodes.failed
  },
})
