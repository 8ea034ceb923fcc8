import { defineCommand } from '../../command/define.ts'
import { itemArgument, printItem } from './item.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show an item',
  examples: ['items show jacket', 'items show jacket --json'],
  args: itemArgument,
  run: async (ctx, { args }) => {
    ctx.needApiKey()
    await printItem(ctx, await ctx.call('GET /items/:itemId', { params: { itemId: args.item } }))
  },
})
