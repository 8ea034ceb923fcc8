import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { findGroup } from '../chip-groups.ts'
import { applyToChips, chipArguments, chooseChips, someFlags } from './many.ts'

export const move = defineCommand({
  name: 'move',
  summary: 'Move chips to another chip group',
  examples: [
    'chips move 04:98:93:CA:AA:11:90 --chip-group Returns',
    'chips move "Coat 7" "Coat 8" --chip-group Returns',
    'chips move --where chipGroup="Box 7" --where disabled=true --chip-group Returns --dry-run',
  ],
  args: chipArguments,
  options: {
    chipGroup: text('--chip-group <name|id>', 'The chip group that they are moved to', 'chip-group'),
    ...someFlags,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { chipGroup, ...selection } = options
    if (chipGroup === undefined)
      throw new UsageError('--chip-group is missing: it says where the chips are moved.')
    const group = await findGroup(ctx, chipGroup, options.team)
    const chosen = await chooseChips(ctx, args.chips, selection)
    if (chosen === undefined) return
    return applyToChips(
      ctx,
      chosen,
      { cells: { chipGroup: group.name } },
      {
        ...{ verb: 'move', options },
        question: (chips) => `Move ${chips} (${chosen.described}) to ${group.name}?`,
        ...(chosen.isNamed && { ask: async () => undefined }),
      },
    )
  },
})
