import { defineCommand } from '../../command/define.ts'
import { colons } from '../../uid.ts'
import { token } from '../token.ts'
import { itemArgument } from './item.ts'

export const chips = defineCommand({
  name: 'chips',
  summary: 'List the chips of an item',
  examples: ['items chips jacket', 'items chips jacket --json'],
  args: itemArgument,
  run: async (ctx, { args }) => {
    ctx.needApiKey()
    await ctx.io.list(
      await ctx.call('GET /items/:itemId/chips', { params: { itemId: args.item } }),
      {
        UID: (chip) => chip.uid,
        HEX: (chip) => colons(chip.uid),
        TOKEN: (chip) => token(chip.linkedToken),
      },
      'No chips. Bind one: tapchip chips link UID --item ITEM',
    )
  },
})
