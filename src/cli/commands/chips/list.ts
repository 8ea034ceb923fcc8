import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { colons } from '../../uid.ts'
import { chipsOf, chooseGroup } from '../chip-groups/group.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the chips of a chip group',
  examples: ['chips list --chip-group Jackets', "chips list --chip-group 3 --json | jq -r '.[].uid'"],
  options: { chipGroup: text('--chip-group <name|id>', 'The chip group', 'chip-group') },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const chips = await chipsOf(ctx, await chooseGroup(ctx, options.chipGroup))
    await ctx.io.list(
      chips,
      {
        UID: (chip) => chip.uid,
        HEX: (chip) => colons(chip.uid),
        CONFIGURED: (chip) => chip.isConfigured,
        'REDIRECT URL': (chip) => chip.redirectUrl,
        CREATED: (chip) => chip.createdAt,
      },
      'The group has no chips. Add some: tapchip chips import --file chips.csv',
    )
  },
})
