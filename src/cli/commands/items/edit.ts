import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { itemArgument, printItem } from './item.ts'
import { itemFlags, readItem } from './item-flags.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Change an item: what is given replaces what is there',
  examples: ['items edit jacket --name "Winter jacket"', 'items edit jacket --file jacket.json'],
  args: itemArgument,
  options: { ...itemFlags, team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const members = await readItem(ctx, options)
    if (Object.keys(members).length === 0)
      throw new UsageError('Say what to change: --file, --name, --description, --image-url or --contract.')
    const body = { ...members, team: options.team }
    await printItem(ctx, await ctx.call('PATCH /admin/items/:id', { params: { id: args.item }, body }))
    ctx.io.hint(`See its chips: tapchip items chips ${args.item}`)
  },
})
