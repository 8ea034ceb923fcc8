import { batchFlags, refuseRunFlags, runFlags } from '../../batch/input/flags.ts'
import { itemEdit } from '../../batch/kinds/items.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { optionalArgument, team, text, yes } from '../../command/options.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { itemFlags, printItem, readItem } from './item.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Change an item, or many from a file; given values replace existing ones',
  description:
    'Change an item; given values replace existing ones. Many from a file with the column id and any of name, ' +
    'description, imageUrl, contract, media, attributes and variants (the last three as JSON; empty: cleared). The whole ' +
    'file is checked before the first item is written.',
  examples: [
    'items edit jacket --name "Winter jacket"',
    'items edit jacket --file jacket.json',
    'items edit --file items.csv --dry-run',
    'items edit --file items.csv --failed again.csv',
  ],
  args: { item: optionalArgument('item', 'Its ID; without it, --file is a sheet of many items') },
  options: {
    ...runFlags,
    ...batchFlags,
    ...itemFlags,
    name: text('--name <name>', 'The name of the item; with a sheet, of the batch'),
    file: text(
      '-f, --file <file>',
      'JSON with the fields of the item, or a sheet if no item is given; - for standard input',
      'file',
    ),
    team,
    yes,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { file, name, description, imageUrl, contract } = options
    if (args.item === undefined) {
      if (file === undefined) throw new UsageError('Specify which item, or give a sheet of many: --file.')
      if ([description, imageUrl, contract].some((flag) => flag !== undefined))
        throw new UsageError('--file already says what the items get: leave out the flags that also say it.')
      return runSheet(ctx, itemEdit, file, { ...options, name: runFlags.name.read(name) })
    }
    refuseRunFlags({ ...options, name: undefined })
    const members = await readItem(ctx, options)
    if (Object.keys(members).length === 0)
      throw new UsageError(
        'Specify what to change: --file, --name, --description, --image-url or --contract.',
      )
    const body = { ...members, team: options.team }
    await printItem(ctx, await ctx.call('PATCH /admin/items/:id', { params: { id: args.item }, body }))
    ctx.io.hint(`See its chips: tapchip items chips ${args.item}`)
    return exitCodes.done
  },
})
