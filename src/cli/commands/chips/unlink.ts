import { defineCommand } from '../../command/define.ts'
import { flag, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const unlink = defineCommand({
  name: 'unlink',
  summary: 'Remove the token, the item, or both from a chip',
  examples: [
    'chips unlink 04:98:93:CA:AA:11:90 --token',
    'chips unlink 04:98:93:CA:AA:11:90 --token --item --yes',
  ],
  args: uidArgument,
  options: { token: flag('--token', 'Remove the token'), item: flag('--item', 'Remove the item'), yes },
  run: async (ctx, { args, options }) => {
    const { token, item } = options
    if (!token && !item) throw new UsageError('Specify what to remove: --token, --item, or both.')
    const params = await chipParams(ctx, args.uid)
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Unlink chip ${args.uid}?`)
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/unlink', { params, body: { token, item } }))
    ctx.io.hint(`Link it again: tapchip chips link ${args.uid} --help`)
  },
})
