import { defineCommand } from '../../command/define.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const enable = defineCommand({
  name: 'enable',
  summary: 'Enable a disabled chip again',
  examples: ['chips enable 04:98:93:CA:AA:11:90'],
  args: uidArgument,
  run: async (ctx, { args }) => {
    await printChip(
      ctx,
      await ctx.call('POST /admin/chips/:uid/enable', { params: await chipParams(ctx, args.uid) }),
    )
    ctx.io.hint(`See its taps: tapchip taps list --uid ${args.uid}`)
  },
})
