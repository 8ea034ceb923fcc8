import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'
import { itemArgument } from './item.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an item that no chip is bound to',
  examples: ['items remove jacket'],
  args: itemArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Remove the item "${args.item}"?`)
    const request = { params: { id: args.item }, query: { team: options.team } }
    await ctx.io.one(await ctx.call('DELETE /admin/items/:id', request), () => ({ Removed: args.item }))
    ctx.io.hint('See what is left: tapchip items list')
  },
})
