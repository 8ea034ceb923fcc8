import { findBatch } from '../../batch/copies.ts'
import { hasFailed } from '../../batch/journal.ts'
import type { History, Kind } from '../../batch/kind.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { afterDamage, batchArgument, skipDamaged } from './summary.ts'

export const report = defineCommand({
  name: 'report',
  summary: 'Show what became of each row of a batch',
  examples: ['batch report b_1hq3v9k7s2m4xa', 'batch report b_1hq3v9k7s2m4xa --failed --json'],
  args: batchArgument,
  options: { failed: flag('--failed', 'Only the failed rows'), skipDamaged },
  run: async (ctx, { args, options }) => {
    const { kind, history } = await findBatch(ctx, args.id, kinds, options.skipDamaged)
    await reportBatch(ctx, kind, history, options.failed)
    const { auditHead } = history
    // On standard error, so that the rows stay the only lines of the report.
    if (auditHead !== undefined)
      ctx.io.note(`The audit log ended with ${auditHead}. Check it: tapchip audit verify --batch ${args.id}`)
    return afterDamage(ctx, history)
  },
})

const reportBatch = async (
  ctx: CliContext,
  kind: Kind,
  history: History,
  failedAlone: boolean,
): Promise<void> => {
  if ('report' in kind) return kind.report(ctx, history, failedAlone)
  for (const row of history.rows) {
    const result = history.results.get(row.row)
    if (failedAlone && (result === undefined || !hasFailed(result))) continue
    await ctx.io.line({ row: row.row, ...kind.about(row), status: 'pending', ...result }, () =>
      result ? kind.describe(result, row) : `row ${row.row}  ${kind.pending(row)}pending`,
    )
  }
}
