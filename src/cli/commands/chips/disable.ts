import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const disable = defineCommand({
  name: 'disable',
  summary: 'Disable a lost or stolen chip, whose taps, refs and codes become invalid',
  examples: [
    'chips disable 04:98:93:CA:AA:11:90 --reason "stolen in transit"',
    'chips disable 1293660434600336 --yes',
  ],
  args: uidArgument,
  options: { reason: text('--reason <text>', 'Why, for the record'), yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = await chipParams(ctx, args.uid)
    await ctx.prompts.confirm(options.yes, `Disable chip ${args.uid}?`)
    const chip = await ctx.call('POST /admin/chips/:uid/disable', {
      params,
      body: { reason: options.reason },
    })
    await printChip(ctx, chip)
    ctx.io.hint(`Undo it: tapchip chips enable ${args.uid}`)
  },
})
