import { findBatch } from '../../batch/copies.ts'
import { undoBatch } from '../../batch/engine.ts'
import { rateFlag } from '../../batch/input/flags.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { exitCodes } from '../../errors.ts'
import { afterDamage, batchArgument, skipDamaged } from './summary.ts'

export const undo = defineCommand({
  name: 'undo',
  summary: 'Undo what a batch changed',
  description:
    'Undo what a batch changed. A chip that was changed again since then is left as it is, and reported as failed. ' +
    'An undo is a batch itself, and can be undone, unless it undid an import or badge assignments.',
  examples: ['batch undo b_1hq3v9k7s2m4xa --dry-run', 'batch undo b_1hq3v9k7s2m4xa --yes'],
  args: batchArgument,
  options: { ...rateFlag, yes, skipDamaged },
  run: async (ctx, { args, options }) => {
    const { kind, history } = await findBatch(ctx, args.id, kinds, options.skipDamaged)
    const code = await undoBatch(ctx, kind, history, options)
    return code === exitCodes.done ? afterDamage(ctx, history) : code
  },
})
