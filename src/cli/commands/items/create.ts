import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'
import { itemFlags, printItem, readItem } from './item.ts'

const written = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const create = defineCommand({
  name: 'create',
  summary: 'Create an item, a template for tokens',
  description:
    'Create an item by flags, or from a JSON file with id, name, description, imageUrl, contract (a symbol), media, attributes and variants.',
  examples: ['items create --id jacket --name Jacket --contract JKT', 'items create --file jacket.json'],
  options: { id: text('--id <id>', 'Letters, digits, dots, dashes, underscores'), ...itemFlags, team },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const members = await readItem(ctx, options)
    const id = await ctx.prompts.text(options.id ?? written(members.id), {
      flag: '--id',
      message: 'Id of the item',
    })
    const name = await ctx.prompts.text(written(members.name), {
      flag: '--name',
      message: 'Name of the item',
    })
    await printItem(
      ctx,
      await ctx.call('POST /admin/items', { body: { ...members, id, name, team: options.team } }),
    )
    ctx.io.hint(`Bind a chip to it: tapchip chips link UID --item ${id}`)
  },
})
