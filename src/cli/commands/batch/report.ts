import { reportBox } from '../../batch/boxes.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import { exitCodes } from '../../errors.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { batchArgument, findBatch } from './find.ts'

export const report = defineCommand({
  name: 'report',
  summary: 'Show the result of each row of a batch',
  examples: ['batch report b_1hq3v9k7s2m4xa', 'batch report friday-sale --failed --json'],
  args: batchArgument,
  options: { failed: flag('--failed', 'Only rows that failed or are in conflict') },
  run: async (ctx, { args: { id }, options }) => {
    const box = readBox(ctx.system, id)
    if (box) return reportBox(ctx, box, options.failed)
    const { api, batch, messages } = await findBatch(ctx, id)
    for await (const result of api.report(batch.id, options.failed)) {
      const shown = messages.shown?.(result, 'report') ?? result
      await ctx.io.line({ ...shown, status: result.status ?? 'pending' }, () => messages.describe(result))
    }
    // On standard error, so that the rows stay the only lines of the report.
    if (batch.auditHead !== null)
      ctx.io.note(`The audit log ended with ${batch.auditHead}. Check it: tapchip audit verify --batch ${id}`)
    return exitCodes.done
  },
})
