import { runOn } from '../../batch/submit.ts'
import { defineCommand } from '../../command/define.ts'
import { batchArgument, findBatch } from './find.ts'
import { untilStarted } from './wait.ts'

export const follow = defineCommand({
  name: 'follow',
  summary: 'Show the rows of a batch as they are done, until it ends',
  description:
    'Show the rows of a batch as they are done, until it ends. Waits for one that is scheduled or proposed. Ctrl-C ' +
    'pauses a running batch; pressed again, it leaves it running.',
  examples: ['batch follow b_1hq3v9k7s2m4xa', 'batch follow friday-sale --json'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    const started = await untilStarted(ctx, api, batch)
    const flags = { yes: false, detach: false }
    return (await runOn(ctx, api, started, messages, { flags })).exitCode
  },
})
