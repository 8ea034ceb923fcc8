import { defineCommand } from '../../command/define.ts'
import { integer, team, text } from '../../command/options.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the items',
  examples: ['items list', 'items list --contract-address 0x5FbD…0aa3 --chain-id 31337 --json'],
  options: {
    contractAddress: text('--contract-address <address>', 'Only those of this contract'),
    chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
    team,
  },
  run: async (ctx, { options }) => {
    const { contractAddress, chainId } = options
    const filtered = contractAddress !== undefined || chainId !== undefined
    // Only the interface has the filter, and it needs an API key; without one, an admin token lists them all.
    const byAdmin =
      !filtered && (options.team !== undefined || (!ctx.config().apiKey && !!ctx.config().adminToken()))
    if (!byAdmin) ctx.needApiKey()
    const items = byAdmin
      ? await ctx.call('GET /admin/items', { query: { team: options.team } })
      : await ctx.call('GET /items', { query: { contractAddress, chainId } })
    await ctx.io.list(
      items,
      {
        ID: (item) => item.id,
        NAME: (item) => item.name,
        CONTRACT: (item) => item.contract?.symbol,
        VARIANTS: (item) => item.variants.map(({ id }) => id),
        DESCRIPTION: (item) => item.description,
      },
      'No items. Create one: tapchip items create --file item.json',
    )
  },
})
