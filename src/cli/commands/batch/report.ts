import { findBatch } from '../../batch/copies.ts'
import { reportBatch } from '../../batch/engine.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
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
