import { batchFlags, runFlags } from '../../batch/input/flags.ts'
import { chipsApply } from '../../batch/kinds/chips-apply.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'

export const applySheet = defineCommand({
  name: 'apply',
  summary: 'Create or update chips from a sheet',
  description:
    'Create or update chips from a sheet. It names each chip by uid, by label, or (a HaLo chip) by publicKey, and has any of the columns label, chipGroup, ' +
    'keySet, redirectUrl, item, variant, contractAddress, chainId, tokenId and disabled. A column that is absent is ' +
    'left alone, and an empty cell clears the value. Chips that are not registered are created, and missing chip groups too. ' +
    'A sheet of chips export can be applied as it is: a chip that was changed after the export (its column revision tells) is a ' +
    'conflict and is left as it is.',
  examples: [
    'chips export --file chips.csv',
    'chips apply --file chips.csv --dry-run',
    'chips apply --file chips.csv --failed again.csv',
  ],
  options: { ...batchFlags, ...runFlags, team, yes },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'Sheet of the chips' })
    return runSheet(ctx, chipsApply, file, options)
  },
})
