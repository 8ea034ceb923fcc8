import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { batchArgument, findBatch } from './find.ts'
import { printStep } from './shown.ts'

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'Call off a batch that waits, or is paused',
  description:
    'Call off a batch that waits, or is paused, for good. Rows that are done stay as they are: batch undo takes them back.',
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
    if (batch.changed > 0) ctx.io.hint(`Take back what it did: tapchip batch undo ${id}`)
  },
})
