import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { isTokenGiven, readToken, tokenFlags } from '../token.ts'
import { chipParams, printChip, uidArgument } from './chip.ts'

export const link = defineCommand({
  name: 'link',
  summary: 'Link a chip to a token, to an item, or to both',
  examples: [
    'chips link 04:98:93:CA:AA:11:90 --item jacket --variant s',
    'chips link 04:98:93:CA:AA:11:90 --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7',
  ],
  args: uidArgument,
  options: {
    ...tokenFlags,
    item: text('--item <id>', 'The item'),
    variant: text('--variant <id>', 'Its variant'),
  },
  run: async (ctx, { args, options }) => {
    const { item, variant } = options
    const token = isTokenGiven(options) ? readToken(options) : undefined
    if (variant !== undefined && item === undefined)
      throw new UsageError('--item is missing: a variant belongs to an item.')
    if (token === undefined && item === undefined)
      throw new UsageError('Specify what to link: --item, or --contract-address, --chain-id and --token-id.')
    await printChip(
      ctx,
      await ctx.call('POST /admin/chips/:uid/link', {
        params: await chipParams(ctx, args.uid),
        body: { token, item, variant },
      }),
    )
    ctx.io.hint(
      `Undo it: tapchip chips unlink ${args.uid}${token ? ' --token' : ''}${item === undefined ? '' : ' --item'}`,
    )
  },
})
