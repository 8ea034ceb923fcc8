import { defineCommand } from '../../command/define.ts'
import { integer, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
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
    contractAddress: text('--contract-address <address>', 'The contract of the token'),
    chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
    tokenId: text('--token-id <id>', 'The token'),
    item: text('--item <id>', 'The item'),
    variant: text('--variant <id>', 'Its variant'),
  },
  run: async (ctx, { args, options }) => {
    const { contractAddress, chainId, tokenId, item, variant } = options
    const given = [contractAddress, chainId, tokenId].filter((part) => part !== undefined).length
    if (given !== 0 && given !== 3)
      throw new UsageError('A token is --contract-address, --chain-id and --token-id together.')
    if (variant !== undefined && item === undefined)
      throw new UsageError('--item is missing: a variant belongs to an item.')
    if (given === 0 && item === undefined)
      throw new UsageError('Say to what: --item, or --contract-address, --chain-id and --token-id.')
    const token =
      contractAddress !== undefined && chainId !== undefined && tokenId !== undefined
        ? { contractAddress, chainId, tokenId }
        : undefined
    await printChip(
      ctx,
      await ctx.call('POST /admin/chips/:uid/link', {
        params: chipParams(args.uid),
        body: { token, item, variant },
      }),
    )
    ctx.io.hint(
      `Take it back: tapchip chips unlink ${args.uid}${token ? ' --token' : ''}${item === undefined ? '' : ' --item'}`,
    )
  },
})
