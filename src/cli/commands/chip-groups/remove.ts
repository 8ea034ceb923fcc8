import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'
import { findGroup, groupArgument } from './group.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an empty chip group',
  examples: ['chip-groups remove Jackets'],
  args: groupArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Remove the chip group "${args.group}"?`)
    const { id } = await findGroup(ctx, args.group, options.team)
    await ctx.io.one(await ctx.call('DELETE /admin/chip-groups/:id', { params: { id } }), () => ({
      Removed: args.group,
    }))
    ctx.io.hint('See what is left: tapchip chip-groups list')
  },
})
