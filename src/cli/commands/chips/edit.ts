import { runSheet } from '../../batch/engine.ts'
import { batchFlags } from '../../batch/input/flags.ts'
import { edit as editKind } from '../../batch/kinds/edit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { asWord } from '../../io/text.ts'
import { editByFlags } from './edit-by-flags.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set or clear the redirect URL of chips',
  description:
    'Set or clear the redirect URL of chips: of one, or of a whole group, by flags; of many from a file with the columns uid and ' +
    'redirectUrl (empty: cleared). The whole file is checked before the first row is written.',
  examples: [
    'chips edit --uid 04:DE:5F:1E:AC:C0:40 --redirect-url https://example.com/',
    'chips edit --chip-group Jackets --redirect-url https://example.com/',
    'chips edit --file edits.csv --dry-run',
    'chips edit --file edits.csv --failed again.csv',
    'chips edit --file sheet.csv --map uid=TagID --map redirectUrl=Link --ignore-columns',
  ],
  excess: (given) => `For one chip: --uid ${asWord(given)}. For many: --chip-group or --file.`,
  options: {
    uid: text('--uid <uid>', 'One chip: its UID in decimal or hex'),
    chipGroup: text('--chip-group <name|id>', 'All chips of a group', 'chip-group'),
    redirectUrl: text('--redirect-url <url>', 'Where their taps go'),
    clear: flag('--clear', 'Their taps go nowhere special any more'),
    ...batchFlags,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { uid, chipGroup, redirectUrl, clear } = options
    if (options.file === undefined) return editByFlags(ctx, options)
    if ((uid ?? chipGroup ?? redirectUrl) !== undefined || clear) {
      throw new UsageError('--file says which chips and where: leave out the flags that say it as well.')
    }
    return runSheet(ctx, editKind, options.file, options)
  },
})
