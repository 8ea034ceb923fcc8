import { defineCommand } from '../../command/define.ts'
import { batchArgument, findBatch } from './find.ts'
import { printStep } from './shown.ts'

export const pause = defineCommand({
  name: 'pause',
  summary: 'Pause a batch that runs',
  description: 'Pause a running batch. Rows in progress are finished; the others wait for batch resume.',
  examples: ['batch pause b_1hq3v9k7s2m4xa'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    await printStep(ctx, await api.pause(batch.id), messages)
    ctx.io.hint(`Continue: tapchip batch resume ${id}`)
  },
})
