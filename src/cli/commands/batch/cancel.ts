import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { batchArgument, findBatch } from './find.ts'
import { printStep } from './shown.ts'

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'Cancel a waiting or paused batch',
  description:
    'Cancel a waiting or paused batch for good. Rows that are done stay as they are; to undo them: batch undo.',
  examples: ['batch cancel b_1hq3v9k7s2m4xa', 'batch cancel friday-sale --yes'],
  args: batchArgument,
  options: { yes },
  run: async (ctx, { args: { id }, options }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Cancel batch ${id}? It cannot be resumed after that.`,
    )
    await printStep(ctx, await api.cancel(batch.id), messages)
    if (batch.changed > 0) ctx.io.hint(`Undo what it did: tapchip batch undo ${id}`)
  },
})
