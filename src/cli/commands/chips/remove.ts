import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { chipParams, uidArgument } from './chip.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a chip from the register',
  examples: ['chips remove 04:98:93:CA:AA:11:90'],
  args: uidArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = chipParams(args.uid)
    await ctx.prompts.confirm(
      options.yes,
      `Remove chip ${args.uid} with its taps? It cannot be brought back.`,
    )
    await ctx.io.one(await ctx.call('DELETE /admin/chips/:uid', { params }), () => ({ Removed: args.uid }))
  },
})
