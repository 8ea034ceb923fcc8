import { defineCommand } from '../../command/define.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show a chip with its last tap, key set, token and assignments',
  examples: ['chips show 04:98:93:CA:AA:11:90', 'chips show 1293660434600336 --json'],
  args: uidArgument,
  run: async (ctx, { args }) =>
    printChip(ctx, await ctx.call('GET /admin/chips/:uid', { params: await chipParams(ctx, args.uid) })),
})
