import { defineCommand } from '../../command/define.ts'
import { decide, eventArgument } from './event.ts'

export const approve = defineCommand({
  name: 'approve',
  summary: 'Approve an event of the embedded provider, which creates its codes',
  examples: ['badge-events approve 4'],
  args: eventArgument,
  run: async (ctx, { args }) => {
    await decide(ctx, args.event, 'approve')
    ctx.io.hint(`Let a chip give codes for it: tapchip badge-events assign ${args.event} --uid UID`)
  },
})
