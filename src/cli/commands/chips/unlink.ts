import { defineCommand } from '../../command/define.ts'
import { flag, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const unlink = defineCommand({
  name: 'unlink',
  summary: 'Take the token, the item, or both off a chip',
  examples: [
    'chips unlink 04:98:93:CA:AA:11:90 --token',
    'chips unlink 04:98:93:CA:AA:11:90 --token --item --yes',
  ],
  args: uidArgument,
  options: { token: flag('--token', 'Take the token off'), item: flag('--item', 'Take the item off'), yes },
  run: async (ctx, { args, options }) => {
    const { token, item } = options
    if (!token && !item) throw new UsageError('Say what to take off: --token, --item, or both.')
    const params = chipParams(args.uid)
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Unlink chip ${args.uid}?`)
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/unlink', { params, body: { token, item } }))
    ctx.io.hint(`Link it anew: tapchip chips link ${args.uid} --help`)
  },
})
