import { batchFlags, runFlags } from '../../batch/input/flags.ts'
import { itemApply } from '../../batch/kinds/items.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'

export const apply = defineCommand({
  name: 'apply',
  summary: 'Create or change items from a sheet',
  description:
    'Create items that are missing and change the others, from a file with the column id and any of name, description, ' +
    'imageUrl, contract, media, attributes and variants (the last three as JSON; empty: cleared). An item that is created ' +
    'needs a name. The whole file is checked before the first item is written.',
  examples: ['items apply --file items.csv --dry-run', 'items apply --file items.csv --failed again.csv'],
  options: { ...batchFlags, ...runFlags, team, yes },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'File with the items' })
    return runSheet(ctx, itemApply, file, options)
  },
})
