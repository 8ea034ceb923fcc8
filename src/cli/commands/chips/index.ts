import { batchFlags, runFlags } from '../../batch/input/flags.ts'
import { chipsApply } from '../../batch/kinds/chips-apply.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'
import { disable, enable, move, rename, replace } from './change.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'
import { edit } from './edit.ts'
import { editSelf } from './edit-self.ts'
import { exportChips } from './export.ts'
import { find } from './find.ts'
import { historyFlags, printHistory } from './history.ts'
import { importChips } from './import.ts'
import { link, unlink } from './link.ts'
import { list } from './list.ts'
import { note } from './note.ts'
import { remove } from './remove.ts'
import { stats } from './stats.ts'

const applySheet = defineCommand({
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

const show = defineCommand({
  name: 'show',
  summary: 'Show a chip with its last tap, key set, token and assignments',
  examples: [
    'chips show 04:98:93:CA:AA:11:90',
    'chips show 04:98:93:CA:AA:11:90 --history',
    'chips show FJ-0001 --team Acme',
    'chips show 1293660434600336 --json',
  ],
  args: uidArgument,
  options: { ...historyFlags, team },
  run: async (ctx, { args, options }) => {
    const params = await chipParams(ctx, args.uid)
    const chip = await ctx.call('GET /admin/chips/:uid', { params })
    await (options.history ? printHistory(ctx, params, chip, options) : printChip(ctx, chip))
  },
})

export const verbs = [
  list,
  stats,
  show,
  find,
  edit,
  editSelf,
  applySheet,
  importChips,
  exportChips,
  link,
  unlink,
  replace,
  move,
  rename,
  note,
  disable,
  enable,
  remove,
]
