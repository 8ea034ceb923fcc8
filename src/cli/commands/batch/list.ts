import { remoteBatches } from '../../batch/copies.ts'
import { listBatches } from '../../batch/history.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type CliError, type ExitCode, exitCodes } from '../../errors.ts'
import { summaryOf } from './summary.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the batches of this machine, newest first',
  options: { all: flag('--all', 'List the batches of all machines that the daemon has a copy of') },
  examples: [
    'batch list',
    'batch list --all',
    'batch list --json | jq -r \'.[] | select(.status == "stopped") | .id\'',
  ],
  run: async (ctx, { options }) => {
    if (options.all) return listAll(ctx)
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

const listAll = async (ctx: CliContext): Promise<ExitCode> => {
  await ctx.io.list(
    await remoteBatches(ctx, { limit: 1000 }),
    {
      ID: (batch) => batch.id,
      KIND: (batch) => batch.kind,
      STATE: (batch) => batch.state,
      HOST: (batch) => batch.host,
      CONTEXT: (batch) => batch.context,
      BY: (batch) => batch.startedBy,
      STARTED: (batch) => batch.startedAt,
      DONE: (batch) => batch.done,
      FAILED: (batch) => batch.failed,
      TOTAL: (batch) => batch.total,
    },
    'The daemon knows of no batches.',
  )
  return exitCodes.done
}
