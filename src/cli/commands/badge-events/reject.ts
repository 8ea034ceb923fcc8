import { defineCommand } from '../../command/define.ts'
import { decide, eventArgument } from './event.ts'

export const reject = defineCommand({
  name: 'reject',
  summary: 'Reject an event of the embedded provider, which then gives no badges',
  description:
    'Reject an event of the embedded provider, which then gives no badges. People keep those that they have.',
  examples: ['badge-events reject 4'],
  args: eventArgument,
  run: async (ctx, { args }) => {
    await decide(ctx, args.event, 'reject')
    ctx.io.hint(`To change your mind: tapchip badge-events approve ${args.event}`)
  },
})
