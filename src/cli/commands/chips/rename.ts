import { runFlags } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, flag, team, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { chipUid } from '../chip-handle.ts'
import { applyToChips } from './many.ts'

export const rename = defineCommand({
  name: 'rename',
  summary: 'Give a chip another label, or none',
  examples: [
    'chips rename 04:98:93:CA:AA:11:90 --label "Coat 7"',
    'chips rename "Coat 7" --label "Coat 7, repaired"',
    'chips rename "Coat 7" --clear',
  ],
  args: { chip: argument('chip', 'Its UID, in decimal or hex, or its label') },
  options: {
    label: text('--label <label>', 'The new label, unique within the team'),
    clear: flag('--clear', 'Remove the label'),
    ...runFlags,
    team,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { label, clear } = options
    if (clear === (label !== undefined)) throw new UsageError('Specify its new label: --label or --clear.')
    if (label?.trim() === '') throw new UsageError('--label is empty.', 'To remove the label: --clear')
    const uid = await chipUid(ctx, args.chip)
    const chosen = { uids: [uid], described: args.chip, isNamed: true, handle: args.chip }
    return applyToChips(
      ctx,
      chosen,
      { cells: { label: label?.trim() ?? null } },
      {
        ...{ verb: 'rename', options: { ...options, yes: true } },
        ask: async () => undefined,
      },
    )
  },
})
